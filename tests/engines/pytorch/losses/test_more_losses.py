"""Focal, number, pair, area, sequence and teacher losses against their formulas in float64."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
import torchvision
from torch.nn import functional

from torchstone.core import catalog
from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.losses import needs_whole_batch
from torchstone.engines.pytorch.losses.arcface import CosineHead, arcface
from torchstone.engines.pytorch.losses.binary_cross_entropy import binary_cross_entropy
from torchstone.engines.pytorch.losses.contrastive import contrastive
from torchstone.engines.pytorch.losses.cosine_embedding import cosine_embedding
from torchstone.engines.pytorch.losses.cross_entropy import cross_entropy
from torchstone.engines.pytorch.losses.ctc import ctc
from torchstone.engines.pytorch.losses.dice import dice
from torchstone.engines.pytorch.losses.distillation import distillation
from torchstone.engines.pytorch.losses.focal import focal
from torchstone.engines.pytorch.losses.huber import huber
from torchstone.engines.pytorch.losses.mae import mae
from torchstone.engines.pytorch.losses.quantile import quantile
from torchstone.engines.pytorch.losses.smooth_l1 import smooth_l1
from torchstone.testing.check_loss import check_loss

RNG = np.random.default_rng(11)
LOGITS = RNG.normal(size=(9, 4)) * 2
CLASSES = np.array([0, 1, 2, 3, 3, 1, 0, 2, 2])
LABELS = (RNG.random((9, 4)) < 0.4).astype(np.float64)
NUMBERS = RNG.normal(size=9) * 2
PAIRS = RNG.normal(size=(9, 2, 5))
SAME = np.array([1, 0, 0, 1, 0, 1, 1, 0, 0])
COSINES = np.tanh(LOGITS / 2)
SEQUENCES = RNG.normal(size=(6, 5, 3))
SPELLED = np.array([[1, 2], [1, 1], [2, -1], [-1, -1], [2, 1], [1, -1]])
MAPS = RNG.normal(size=(4, 3, 2, 2))
AREAS = RNG.integers(0, 3, (4, 2, 2))

tensor = torch.tensor
labels = tensor(LABELS, dtype=torch.float32)
CASES = {
    "focal classes": (focal(), tensor(LOGITS), tensor(CLASSES)),
    "focal weighted": (focal(gamma=0.5, alpha=[1, 2, 3, 4]), tensor(LOGITS), tensor(CLASSES)),
    "focal labels": (focal(gamma=2.0, alpha=0.25), tensor(LOGITS), labels),
    "smooth_l1": (smooth_l1(beta=0.7), tensor(LOGITS[:, :1]), tensor(NUMBERS, dtype=torch.float32)),
    "quantile": (quantile(quantiles=[0.1, 0.5, 0.8, 0.9]), tensor(LOGITS), tensor(NUMBERS, dtype=torch.float32)),
    "contrastive": (contrastive(margin=3.0), tensor(PAIRS), tensor(SAME)),
    "cosine_embedding": (cosine_embedding(margin=0.1), tensor(PAIRS), tensor(SAME)),
    "arcface": (arcface(scale=8.0), tensor(COSINES), tensor(CLASSES)),
    "dice of classes": (dice(), tensor(MAPS), tensor(AREAS)),
    "dice of labels": (dice(smooth=0.5), tensor(MAPS), tensor(MAPS > 0.3)),
    "ctc": (ctc(), tensor(SEQUENCES), tensor(SPELLED)),
    "distillation": (distillation(temperature=3.0), tensor(LOGITS), tensor(LOGITS[::-1].copy())),
}


def softmax(logits: np.ndarray, axis: int = 1) -> np.ndarray:
    raised = np.exp(logits - logits.max(axis=axis, keepdims=True))
    return raised / raised.sum(axis=axis, keepdims=True)


def value(name: str) -> tuple[float, float]:
    loss, logits, target = CASES[name]
    total, weight = loss(logits, target)
    return float(total), float(weight)


@pytest.mark.parametrize("name", CASES)
def test_the_contract_of_these_losses(name):
    check_loss(*CASES[name])
    assert not needs_whole_batch(CASES[name][0])


def test_every_loss_is_found_by_the_name_of_its_file():
    for name in catalog.names("torchstone.engines.pytorch.losses"):
        part = catalog.find("torchstone.engines.pytorch.losses", name)
        assert callable(part())
        assert len(catalog.summary(part)) > 20


def test_focal_of_classes_by_hand():
    right = softmax(LOGITS)[np.arange(9), CLASSES]
    assert value("focal classes") == (pytest.approx(((1 - right) ** 2 * -np.log(right)).sum(), rel=1e-12), 9)
    by_hand = np.array([1, 2, 3, 4])[CLASSES] * (1 - right) ** 0.5 * -np.log(right)
    assert value("focal weighted") == (pytest.approx(by_hand.sum(), rel=1e-12), 9)


@pytest.mark.parametrize("alpha", [0.25, 0.0, 1.0, None])
@pytest.mark.parametrize("gamma", [0.0, 1.0, 1.5, 2.0, 5.0])
def test_focal_of_labels_is_that_of_torchvision(gamma, alpha):
    expected = torchvision.ops.sigmoid_focal_loss(
        tensor(LOGITS), tensor(LABELS), alpha=-1 if alpha is None else alpha, gamma=gamma, reduction="sum"
    )
    total, weight = focal(gamma=gamma, alpha=alpha)(tensor(LOGITS), labels)
    assert float(total) == pytest.approx(float(expected), rel=1e-12)
    assert weight == 36


def test_focal_with_gamma_zero_is_cross_entropy():
    for target, plain in ((tensor(CLASSES), cross_entropy()), (labels, binary_cross_entropy())):
        expected = float(plain(tensor(LOGITS), target)[0])
        assert float(focal(gamma=0.0)(tensor(LOGITS), target)[0]) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 2.0])
def test_focal_at_extreme_logits_is_exact_with_finite_slopes(gamma):
    logits = torch.tensor([[1e4, -1e4], [100.0, -100.0]], requires_grad=True)
    for target in (tensor([1, 1]), tensor([0, 0]), tensor([[1.0, 0.0], [0.0, 1.0]])):
        total, _ = focal(gamma=gamma)(logits, target)
        (slope,) = torch.autograd.grad(total, logits)
        assert bool(slope.isfinite().all())
    logits = logits.detach()
    assert float(focal(gamma=gamma)(logits, tensor([1, 1]))[0]) == 2e4 + 200
    assert float(focal(gamma=gamma)(logits, tensor([0, 0]))[0]) == 0


def test_torchvision_has_no_slope_there_which_is_why_ours_is_our_own():
    logits = torch.tensor([100.0], requires_grad=True)
    torchvision.ops.sigmoid_focal_loss(logits, torch.ones(1), alpha=-1, gamma=0.5).sum().backward()
    assert bool(logits.grad.isnan().all())


def test_focal_says_what_is_wrong_with_its_options():
    for options, said in (({"gamma": -1.0}, "0 or above"), ({"alpha": 2.0}, "from 0 to 1")):
        with pytest.raises(StoneError, match=said):
            focal(**options)
    for alpha in (0.25, [1.0, 2.0]):
        with pytest.raises(StoneError, match="4 classes it needs 4"):
            focal(alpha=alpha)(tensor(LOGITS), tensor(CLASSES))
    with pytest.raises(StoneError, match="yes or no"):
        focal(alpha=[1, 2, 3, 4])(tensor(LOGITS), labels)
    with pytest.raises(StoneError, match="equal shapes"):
        focal()(tensor(LOGITS), tensor(CLASSES[:3]))
    with pytest.raises(IndexError, match="-100"):
        focal()(tensor(LOGITS[:1]), tensor([-100]))


def test_smooth_l1_by_hand_and_as_a_huber_loss():
    miss = np.abs(NUMBERS.astype(np.float32) - LOGITS[:, 0])
    expected = np.where(miss < 0.7, miss**2 / 1.4, miss - 0.35).sum()
    assert value("smooth_l1") == (pytest.approx(expected, rel=1e-9), 9)
    outputs, target = tensor(LOGITS[:, :1]), tensor(NUMBERS)
    expected = float(huber(delta=0.7)(outputs, target)[0]) / 0.7
    assert float(smooth_l1(beta=0.7)(outputs, target)[0]) == pytest.approx(expected)
    expected = float(mae()(outputs, target)[0])
    assert float(smooth_l1(beta=0.0)(outputs, target)[0]) == pytest.approx(expected)


def test_the_best_answer_of_quantile_is_the_quantile():
    from sklearn.metrics import mean_pinball_loss

    expected = sum(
        mean_pinball_loss(NUMBERS.astype(np.float32), LOGITS[:, i], alpha=q) * 9
        for i, q in enumerate([0.1, 0.5, 0.8, 0.9])
    )
    assert value("quantile") == (pytest.approx(expected, rel=1e-6), 36)
    sample = tensor(RNG.normal(size=999))
    grid = torch.linspace(-2, 2, 801, dtype=torch.float64)
    losses = [float(quantile(quantiles=[0.9])(g.expand(999), sample)[0]) for g in grid]
    assert float(grid[int(np.argmin(losses))]) == pytest.approx(float(sample.quantile(0.9)), abs=0.01)
    with pytest.raises(StoneError, match="between 0 and 1"):
        quantile(quantiles=[1.0])
    with pytest.raises(StoneError, match="2 quantiles need"):
        quantile(quantiles=[0.1, 0.9])(torch.zeros(3, 1), torch.zeros(3))


def test_contrastive_by_hand():
    distance = np.sqrt(((PAIRS[:, 0] - PAIRS[:, 1]) ** 2).sum(1))
    expected = (SAME * distance**2 + (1 - SAME) * np.maximum(0, 3 - distance) ** 2).sum()
    assert value("contrastive") == (pytest.approx(expected, rel=1e-12), 9)


def test_contrastive_of_equal_embeddings_has_a_finite_slope():
    pairs = torch.zeros(2, 2, 3, requires_grad=True)
    total, _ = contrastive()(pairs, tensor([0, 1]))
    total.backward()
    assert float(total) == 1
    assert bool((pairs.grad == 0).all())


def test_cosine_embedding_by_hand_and_with_minus_one_for_no():
    first, second = PAIRS[:, 0], PAIRS[:, 1]
    cosine = (first * second).sum(1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)
    expected = np.where(SAME == 1, 1 - cosine, np.maximum(0, cosine - 0.1)).sum()
    assert value("cosine_embedding") == (pytest.approx(expected, rel=1e-9), 9)
    again, _ = cosine_embedding(margin=0.1)(tensor(PAIRS), tensor(SAME * 2 - 1))
    assert float(again) == pytest.approx(expected, rel=1e-9)


def test_arcface_by_hand():
    angles = np.arccos(COSINES)
    right = angles[np.arange(9), CLASSES] + 0.5
    logits = COSINES.copy()
    beyond = math.sin(math.pi - 0.5) * 0.5
    logits[np.arange(9), CLASSES] = np.where(
        right < math.pi, np.cos(np.minimum(right, math.pi)), COSINES[np.arange(9), CLASSES] - beyond
    )
    expected = -np.log(softmax(8 * logits)[np.arange(9), CLASSES]).sum()
    assert (right >= math.pi).any()
    assert value("arcface") == (pytest.approx(expected, rel=1e-9), 9)
    plain = cross_entropy()(8 * tensor(COSINES), tensor(CLASSES))[0]
    assert float(arcface(margin=0.0, scale=8.0)(tensor(COSINES), tensor(CLASSES))[0]) == pytest.approx(float(plain))


def test_arcface_trains_a_cosine_head_and_refuses_what_is_no_cosine():
    torch.manual_seed(0)
    head = CosineHead(5, 3)
    inputs, target = torch.randn(30, 5), torch.arange(30) % 3
    inputs += 2 * functional.one_hot(target, 5)
    expected = functional.cosine_similarity(inputs[:, None], head.weight[None], dim=2)
    assert torch.allclose(head(inputs), expected, atol=1e-6)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.05)
    loss = arcface(scale=16.0)
    for _ in range(60):
        optimizer.zero_grad()
        loss(head(inputs), target)[0].backward()
        optimizer.step()
    assert float((head(inputs).argmax(1) == target).float().mean()) > 0.9
    ones = torch.ones(2, 3, requires_grad=True)
    arcface()(ones, tensor([0, 1]))[0].backward()
    assert bool(ones.grad.isfinite().all())
    with pytest.raises(StoneError, match="needs cosines"):
        arcface()(torch.full((2, 3), 2.0), tensor([0, 1]))


def test_dice_by_hand():
    chance, truth = softmax(MAPS), np.eye(3)[AREAS].transpose(0, 3, 1, 2)
    expected = [
        1 - (2 * (chance[b, k] * truth[b, k]).sum() + 1) / (chance[b, k].sum() + truth[b, k].sum() + 1)
        for b in range(4) for k in range(3)
    ]
    assert value("dice of classes") == (pytest.approx(sum(expected), rel=1e-12), 12)
    chance, truth = 1 / (1 + np.exp(-MAPS)), MAPS > 0.3
    overlap, size = (chance * truth).sum((2, 3)), chance.sum((2, 3)) + truth.sum((2, 3))
    assert value("dice of labels")[0] == pytest.approx((1 - (2 * overlap + 0.5) / (size + 0.5)).sum(), rel=1e-12)


def test_dice_is_nearly_zero_where_right_and_takes_one_channel():
    target = tensor(AREAS > 1)
    logits = torch.where(target, 100.0, -100.0)
    for shaped in (logits[:, None], logits[:, None].half()):
        total, weight = dice()(shaped, target)
        assert (float(total), weight) == (pytest.approx(0, abs=1e-6), 4)
    with pytest.raises(StoneError, match="must be equal"):
        dice()(logits, target[:2])


def ctc_by_hand(chances: np.ndarray, wanted: list[int]) -> float:
    """Adds up every path: only for few frames."""
    total = 0.0
    for path in itertools.product(range(chances.shape[1]), repeat=len(chances)):
        said = [label for label, _ in itertools.groupby(path) if label != 0]
        if said == wanted:
            total += math.prod(chances[t, label] for t, label in enumerate(path))
    return -math.log(total)


def test_ctc_adds_up_every_path():
    rows = zip(SEQUENCES, SPELLED, strict=True)
    expected = [ctc_by_hand(softmax(logits), [label for label in wanted if label >= 0]) for logits, wanted in rows]
    assert value("ctc") == (pytest.approx(sum(expected), rel=1e-9), 6)


def test_ctc_with_lengths_does_not_see_padded_frames():
    padded = torch.cat([tensor(SEQUENCES), torch.randn(6, 2, 3, dtype=torch.float64)], 1)
    target = torch.cat([torch.full((6, 1), 5), tensor(SPELLED)], 1)
    total, _ = ctc(is_length_first=True)(padded, target)
    assert float(total) == pytest.approx(value("ctc")[0], rel=1e-12)
    assert math.isinf(float(ctc()(torch.zeros(1, 1, 3), tensor([[1, 2]]))[0]))
    with pytest.raises(StoneError, match="below 0"):
        ctc(padding=0)


def test_distillation_by_hand_and_zero_of_its_teacher():
    mine, wanted = softmax(LOGITS / 3), softmax(LOGITS[::-1] / 3)
    assert value("distillation") == (pytest.approx(9 * (wanted * np.log(wanted / mine)).sum(), rel=1e-9), 9)
    assert float(distillation()(tensor(LOGITS), tensor(LOGITS))[0]) == pytest.approx(0, abs=1e-12)
    with pytest.raises(StoneError, match="its teacher"):
        distillation()(torch.zeros(3, 2), torch.zeros(3))


@pytest.mark.parametrize("name", ["contrastive", "cosine_embedding"])
def test_pairs_are_refused_where_they_are_none(name):
    with pytest.raises(StoneError, match="pairs of embeddings"):
        CASES[name][0](torch.zeros(4, 5), tensor([0, 1, 0, 1]))
    with pytest.raises(StoneError, match="one per pair"):
        CASES[name][0](torch.zeros(4, 2, 5), tensor([0, 1]))


@pytest.mark.parametrize("name", ["focal classes", "focal labels", "distillation", "ctc", "dice of labels"])
def test_extreme_logits_keep_finite_slopes(name):
    loss, logits, target = CASES[name]
    for size in (1e4, -1e4):
        leaf = (logits * size).float().requires_grad_()
        loss(leaf, target)[0].backward()
        assert bool(leaf.grad.isfinite().all())
