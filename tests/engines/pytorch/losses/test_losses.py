"""Each loss against its formula in float64, and the contract of the denominator."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.losses import Loss
from torchstone.engines.pytorch.losses.binary_cross_entropy import binary_cross_entropy
from torchstone.engines.pytorch.losses.cross_entropy import cross_entropy
from torchstone.engines.pytorch.losses.huber import huber
from torchstone.engines.pytorch.losses.mae import mae
from torchstone.engines.pytorch.losses.mse import mse
from torchstone.testing.check_loss import check_loss

RNG = np.random.default_rng(5)
LOGITS = RNG.normal(size=(9, 4)) * 3
CLASSES = np.array([0, 1, 2, 3, 3, 1, 0, 2, 2])
LABELS = (RNG.random((9, 4)) < 0.4).astype(np.float64)
NUMBERS = RNG.normal(size=9) * 2
CLASS_WEIGHTS = [0.5, 1.0, 2.0, 4.0]

logits_BK = torch.tensor(LOGITS)
CASES = {
    "cross_entropy": (cross_entropy(), logits_BK, torch.tensor(CLASSES)),
    "smoothed": (cross_entropy(label_smoothing=0.1), logits_BK, torch.tensor(CLASSES)),
    "weighted": (cross_entropy(class_weights=CLASS_WEIGHTS, label_smoothing=0.2), logits_BK, torch.tensor(CLASSES)),
    "ignoring": (cross_entropy(ignore_index=3, class_weights=CLASS_WEIGHTS), logits_BK, torch.tensor(CLASSES)),
    "several labels": (binary_cross_entropy(label_smoothing=0.1, pos_weight=[1, 2, 3, 4]), logits_BK,
                       torch.tensor(LABELS, dtype=torch.float32)),
    "mse": (mse(), logits_BK[:, :1], torch.tensor(NUMBERS, dtype=torch.float32)),
    "mae": (mae(), logits_BK[:, :1], torch.tensor(NUMBERS, dtype=torch.float32)),
    "huber": (huber(delta=0.7), logits_BK[:, :1], torch.tensor(NUMBERS, dtype=torch.float32)),
}


def log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("name", CASES)
def test_the_contract_of_losses(name):
    check_loss(*CASES[name])


@given(st.sampled_from(sorted(CASES)), st.lists(st.integers(1, 4), min_size=1, max_size=9))
@settings(max_examples=60, deadline=None)
def test_sum_weight_and_gradient_do_not_depend_on_how_a_batch_is_cut(name, sizes):
    loss, logits, target = CASES[name]
    whole = logits.clone().requires_grad_()
    total, weight = loss(whole, target)
    (total / weight).backward()
    cut = logits.clone().requires_grad_()
    bounds = [0, *(end for end in np.cumsum(sizes).tolist() if end < len(target)), len(target)]
    parts = [loss(cut[a:b], target[a:b]) for a, b in itertools.pairwise(bounds)]
    (sum(part for part, _ in parts) / sum(float(w) for _, w in parts)).backward()
    assert torch.allclose(cut.grad, whole.grad, rtol=1e-6, atol=1e-9)


def test_cross_entropy_is_the_negative_log_likelihood():
    total, weight = CASES["cross_entropy"][0](logits_BK, torch.tensor(CLASSES))
    assert float(total) == pytest.approx(-log_softmax(LOGITS)[np.arange(9), CLASSES].sum(), rel=1e-12)
    assert weight == 9.0
    assert isinstance(weight, float)


def test_label_smoothing_spreads_its_share_over_all_classes():
    wanted = np.eye(4)[CLASSES] * 0.9 + 0.1 / 4
    total, _ = CASES["smoothed"][0](logits_BK, torch.tensor(CLASSES))
    assert float(total) == pytest.approx(-(wanted * log_softmax(LOGITS)).sum(), rel=1e-12)


def test_class_weights_weigh_sum_and_weight_and_agree_with_torch():
    loss = cross_entropy(class_weights=CLASS_WEIGHTS)
    total, weight = loss(logits_BK, torch.tensor(CLASSES))
    by_hand = np.array(CLASS_WEIGHTS)[CLASSES]
    assert float(weight) == pytest.approx(by_hand.sum())
    assert float(total) == pytest.approx(-(by_hand * log_softmax(LOGITS)[np.arange(9), CLASSES]).sum(), rel=1e-12)
    reference = torch.nn.CrossEntropyLoss(torch.tensor(CLASS_WEIGHTS, dtype=torch.float64))
    assert float(total / weight) == pytest.approx(float(reference(logits_BK, torch.tensor(CLASSES))), rel=1e-6)


def test_ignored_targets_count_nowhere():
    target = torch.tensor([0, -1, 2, -1])
    total, weight = cross_entropy(ignore_index=-1)(logits_BK[:4], target)
    assert float(weight) == 2
    assert float(total) == pytest.approx(-log_softmax(LOGITS)[[0, 2], [0, 2]].sum(), rel=1e-12)


def test_a_batch_of_ignored_targets_alone_has_no_weight():
    total, weight = cross_entropy(ignore_index=-1)(logits_BK[:2], torch.tensor([-1, -1]))
    assert (float(total), float(weight)) == (0.0, 0.0)


def test_a_wrong_class_index_is_refused_also_minus_hundred():
    with pytest.raises(IndexError, match="-100"):
        cross_entropy()(logits_BK[:2], torch.tensor([0, -100]))


def test_cross_entropy_over_time_steps_is_that_of_its_tokens():
    logits = torch.tensor(RNG.normal(size=(3, 4, 5)))
    target = torch.tensor(RNG.integers(0, 4, (3, 5)))
    total, weight = cross_entropy()(logits, target)
    flat = logits.permute(0, 2, 1).reshape(15, 4)
    assert float(total) == pytest.approx(float(cross_entropy()(flat, target.reshape(15))[0]))
    assert weight == 15.0


def test_binary_cross_entropy_is_the_sum_over_entries():
    chance = 1 / (1 + np.exp(-LOGITS))
    by_hand = -(LABELS * np.log(chance) + (1 - LABELS) * np.log(1 - chance))
    total, weight = binary_cross_entropy()(logits_BK, torch.tensor(LABELS))
    assert (float(total), weight) == (pytest.approx(by_hand.sum(), rel=1e-12), 36.0)
    wanted, positives = LABELS * 0.9 + 0.05, np.array([1, 2, 3, 4])
    by_hand = -(positives * wanted * np.log(chance) + (1 - wanted) * np.log(1 - chance))
    assert float(CASES["several labels"][0](logits_BK, torch.tensor(LABELS))[0]) == pytest.approx(by_hand.sum())


def test_errors_of_numbers_by_hand():
    outputs, target = torch.tensor([[1.0], [2.0], [5.0]]), torch.tensor([1.5, 2.0, 1.0])
    assert [float(x) for x in mse()(outputs, target)] == pytest.approx([0.25 + 0 + 16, 3])
    assert [float(x) for x in mae()(outputs, target)] == pytest.approx([0.5 + 0 + 4, 3])
    assert [float(x) for x in huber()(outputs, target)] == pytest.approx([0.125 + 0 + (4 - 0.5), 3])


@pytest.mark.parametrize("loss", [mse(), mae(), huber(), binary_cross_entropy()])
@pytest.mark.parametrize("shapes", [((4,), (4, 1)), ((4, 2), (4,)), ((4, 1), (3,)), ((1,), (4,))])
def test_shapes_never_broadcast(loss, shapes):
    with pytest.raises(StoneError, match="must be equal"):
        loss(torch.zeros(shapes[0]), torch.zeros(shapes[1]))


@pytest.mark.parametrize("shapes", [((4, 3), (4, 3)), ((4,), (4,)), ((4, 3), (3,))])
def test_cross_entropy_refuses_targets_that_are_no_class_indices(shapes):
    with pytest.raises(StoneError, match="one class index"):
        cross_entropy()(torch.zeros(shapes[0]), torch.zeros(shapes[1], dtype=torch.int64))


def test_cross_entropy_refuses_a_number_per_example():
    with pytest.raises(StoneError, match="one class index"):
        cross_entropy()(torch.zeros(4), torch.zeros(4))


def test_cross_entropy_of_one_class_is_refused():
    with pytest.raises(StoneError, match="always 0"):
        cross_entropy()(torch.zeros(4, 1), torch.zeros(4, dtype=torch.int64))


def test_extreme_logits_give_the_exact_linear_loss():
    logits = torch.tensor([[1e4, -1e4], [1e4, -1e4]])
    assert float(cross_entropy()(logits, torch.tensor([0, 1]))[0]) == 2e4
    assert float(binary_cross_entropy()(logits, torch.tensor([[1.0, 0.0], [0.0, 1.0]]))[0]) == 2e4
    assert math.isinf(float(cross_entropy()(torch.tensor([[-math.inf, 0.0]]), torch.tensor([0]))[0]))


def test_a_large_batch_in_half_precision_does_not_overflow():
    logits = torch.zeros(70000, 2, dtype=torch.float16)
    total, weight = cross_entropy()(logits, torch.zeros(70000, dtype=torch.int64))
    assert float(total) / float(weight) == pytest.approx(math.log(2), rel=1e-5)


def test_huber_needs_a_positive_delta():
    with pytest.raises(StoneError, match="above 0"):
        huber(delta=0.0)


@pytest.mark.parametrize("make", [
    lambda: cross_entropy(label_smoothing=1.5), lambda: cross_entropy(label_smoothing=-0.1),
    lambda: binary_cross_entropy(label_smoothing=float("nan")), lambda: cross_entropy(class_weights=[1.0, -1.0]),
    lambda: cross_entropy(class_weights=[0.0, 0.0]), lambda: binary_cross_entropy(pos_weight=[float("nan"), 1.0]),
])  # fmt: skip
def test_options_that_leave_no_loss_or_turn_it_round_are_refused(make: Callable[[], Loss]) -> None:
    with pytest.raises(StoneError, match="must be"):
        make()


@pytest.mark.parametrize("loss", [cross_entropy(class_weights=[1.0, 2.0]), binary_cross_entropy(pos_weight=[1.0, 2.0])])
def test_weights_for_another_number_of_classes_are_refused_with_both_numbers(loss: Any) -> None:
    is_several = loss.__qualname__.startswith("binary")
    target = torch.tensor(LABELS if is_several else CLASSES)
    with pytest.raises(StoneError, match="has 2 numbers, the model gives 4"):
        loss(logits_BK, target)
