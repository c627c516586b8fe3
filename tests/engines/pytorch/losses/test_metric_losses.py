"""Losses that compare the examples of a batch, against loops over triplets and pairs in float64."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch import losses
from torchstone.engines.pytorch.losses.cross_entropy import cross_entropy
from torchstone.engines.pytorch.losses.info_nce import info_nce
from torchstone.engines.pytorch.losses.nt_xent import nt_xent
from torchstone.engines.pytorch.losses.triplet import triplet
from torchstone.testing.check_loss import check_loss

RNG = np.random.default_rng(4)
POINTS = RNG.normal(size=(12, 5))
KINDS = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 0, 2])
VIEWS = RNG.normal(size=(7, 2, 5))
MINERS = ["batch_hard", "batch_semi_hard", "batch_all"]
any_target = torch.zeros(7, dtype=torch.int64)


def unit(points: np.ndarray) -> np.ndarray:
    return points / np.linalg.norm(points, axis=-1, keepdims=True)


def triplets_by_hand(points: np.ndarray, kinds: np.ndarray, margin: float, mining: str) -> tuple[float, int]:
    """Sum and number of triplets, by loops."""
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    total, num = 0.0, 0
    for a, row in enumerate(distance):
        positives = [row[p] for p in range(len(row)) if p != a and kinds[p] == kinds[a]]
        negatives = [row[n] for n in range(len(row)) if kinds[n] != kinds[a]]
        if not positives or not negatives:
            continue
        if mining == "batch_hard":
            pairs = [(max(positives), min(negatives))]
        elif mining == "batch_all":
            pairs = [(p, n) for p in positives for n in negatives]
        else:
            pairs = [(p, min([n for n in negatives if n > p], default=max(negatives))) for p in positives]
        total += sum(max(0.0, p - n + margin) for p, n in pairs)
        num += len(pairs)
    return total, num


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("margin", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("mining", MINERS)
def test_each_mining_is_the_loop_over_its_triplets(mining, margin, normalize):
    loss = triplet(mining=mining, margin=margin, normalize=normalize)
    points = unit(POINTS) if normalize else POINTS
    total, weight = loss(torch.tensor(POINTS), torch.tensor(KINDS))
    expected = triplets_by_hand(points, KINDS, margin, mining)
    assert (float(total), int(weight)) == (pytest.approx(expected[0], rel=1e-7), expected[1])
    assert losses.needs_whole_batch(loss)
    check_loss(loss, torch.tensor(POINTS), torch.tensor(KINDS))


@pytest.mark.parametrize("mining", MINERS)
def test_single_precision_finds_the_same_triplets_also_far_from_the_origin(mining):
    points, kinds = RNG.normal(size=(64, 16)), RNG.integers(0, 8, 64)
    loss = triplet(mining=mining, normalize=False, margin=1.0)
    exact, num = loss(torch.tensor(points), torch.tensor(kinds))
    moved, num_moved = loss(torch.tensor(points + 1000.0, dtype=torch.float32), torch.tensor(kinds))
    assert float(moved) == pytest.approx(float(exact), rel=1e-4)
    assert int(num) == int(num_moved)


@pytest.mark.parametrize("mining", MINERS)
def test_a_batch_without_a_triplet_has_no_weight_and_no_slope(mining):
    for kinds in ([1, 1, 1], [0, 1, 2]):
        points = torch.randn(3, 4, requires_grad=True)
        total, weight = triplet(mining=mining)(points, torch.tensor(kinds))
        total.backward()
        assert (float(total.detach()), float(weight)) == (0, 0)
        assert bool((points.grad == 0).all())
    assert [float(x) for x in triplet(mining=mining)(torch.ones(1, 4), torch.tensor([0]))] == [0, 0]


@pytest.mark.parametrize("mining", MINERS)
def test_equal_embeddings_give_the_margin_and_finite_slopes(mining):
    points = torch.ones(4, 3, requires_grad=True)
    total, weight = triplet(mining=mining, margin=0.5)(points, torch.tensor([0, 0, 1, 1]))
    total.backward()
    assert float(total.detach()) == pytest.approx(0.5 * float(weight))
    assert bool(points.grad.isfinite().all())


@pytest.mark.parametrize("mining", MINERS)
def test_an_embedding_that_is_no_number_is_not_hidden(mining):
    points = torch.randn(6, 3)
    points[2, 1] = math.nan
    total, _ = triplet(mining=mining)(points, torch.tensor([0, 0, 0, 1, 1, 1]))
    assert math.isnan(float(total))


def test_triplet_says_what_is_wrong():
    with pytest.raises(StoneError, match="there are batch_hard"):
        triplet(mining="hard")
    with pytest.raises(StoneError, match="above 0"):
        triplet(margin=0.0)
    with pytest.raises(StoneError, match="embeddings"):
        triplet()(torch.zeros(4, 2), torch.zeros(3))


@pytest.mark.parametrize("mining", MINERS)
def test_triplets_pull_classes_apart(mining):
    torch.manual_seed(0)
    points = torch.randn(30, 8, requires_grad=True)
    kinds = torch.arange(30) % 3
    optimizer = torch.optim.Adam([points], lr=0.05)
    loss = triplet(mining=mining, margin=0.5)
    for _ in range(200):
        optimizer.zero_grad()
        total, weight = loss(points, kinds)
        (total / weight).backward()
        optimizer.step()
    directions = torch.nn.functional.normalize(points.detach())
    nearest = (torch.cdist(directions, directions) + 9 * torch.eye(30)).argmin(1)
    assert float((kinds[nearest] == kinds).float().mean()) == 1


def cross_entropies(logits: np.ndarray, right: np.ndarray) -> float:
    shifted = logits - logits.max(1, keepdims=True)
    return float(-(shifted[np.arange(len(right)), right] - np.log(np.exp(shifted).sum(1))).sum())


def nt_xent_by_hand(views: np.ndarray, temperature: float) -> float:
    """SimCLR's equation 1, pair by pair."""
    z = unit(np.concatenate([views[:, 0], views[:, 1]]))
    num, total = len(views), 0.0
    for i in range(2 * num):
        partner = (i + num) % (2 * num)
        others = sum(math.exp(z[i] @ z[k] / temperature) for k in range(2 * num) if k != i)
        total -= math.log(math.exp(z[i] @ z[partner] / temperature) / others)
    return total


def test_info_nce_is_the_cross_entropy_of_finding_ones_partner():
    first, second = unit(VIEWS[:, 0]), unit(VIEWS[:, 1])
    expected = cross_entropies(first @ second.T / 0.2, np.arange(7))
    total, weight = info_nce(temperature=0.2)(torch.tensor(VIEWS), any_target)
    assert (float(total), weight) == (pytest.approx(expected, rel=1e-9), 7)
    expected += cross_entropies(second @ first.T / 0.2, np.arange(7))
    total, weight = info_nce(temperature=0.2, symmetric=True)(torch.tensor(VIEWS), any_target)
    assert (float(total), weight) == (pytest.approx(expected, rel=1e-9), 14)


def test_nt_xent_by_hand():
    total, weight = nt_xent(temperature=0.3)(torch.tensor(VIEWS), any_target)
    assert (float(total), weight) == (pytest.approx(nt_xent_by_hand(VIEWS, 0.3), rel=1e-9), 14)


@pytest.mark.parametrize("make", [info_nce, nt_xent, lambda: info_nce(symmetric=True), lambda: nt_xent(is_learnt=True)])
def test_the_contract_of_contrast_in_a_batch(make):
    check_loss(make(), torch.tensor(VIEWS), any_target)
    assert losses.needs_whole_batch(make())
    one, _ = make()(torch.tensor(VIEWS[:1]), any_target[:1])
    assert float(one.detach()) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("make", [info_nce, nt_xent])
def test_autocast_does_not_round_similarities(make):
    views = torch.tensor(VIEWS, dtype=torch.float32)
    exact, _ = make(temperature=0.02)(views, any_target)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        same, _ = make(temperature=0.02)(views, any_target)
    assert float(same) == float(exact)


def test_a_learnt_temperature_belongs_to_the_model_and_moves():
    loss = info_nce(temperature=0.1, is_learnt=True)
    fixed = info_nce(temperature=0.1)(torch.tensor(VIEWS), any_target)[0]
    assert float(loss(torch.tensor(VIEWS), any_target)[0].detach()) == pytest.approx(float(fixed), rel=1e-6)
    model = losses.with_weights_of(loss, torch.nn.Linear(5, 5))
    assert [name for name, _ in model.named_parameters()] == ["weight", "bias", "loss_weights.log_scale"]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss(model(torch.tensor(VIEWS, dtype=torch.float32)), any_target)[0].backward()
    before = float(loss.log_scale.detach())
    optimizer.step()
    assert float(loss.log_scale.detach()) != before
    plain = torch.nn.Linear(5, 5)
    assert losses.with_weights_of(cross_entropy(), plain) is plain
    assert len(list(plain.parameters())) == 2


def test_a_learnt_temperature_stays_at_one_hundredth_or_above():
    loss = nt_xent(temperature=0.01, is_learnt=True)
    loss.log_scale.data += 3
    limit, _ = nt_xent(temperature=0.01)(torch.tensor(VIEWS), any_target)
    assert float(loss(torch.tensor(VIEWS), any_target)[0].detach()) == pytest.approx(float(limit), rel=1e-5)
    for options in ({"temperature": 0.0}, {"temperature": 0.001, "is_learnt": True}):
        with pytest.raises(StoneError, match="temperature is"):
            info_nce(**options)


def test_views_are_refused_where_they_are_none():
    with pytest.raises(StoneError, match="pairs of embeddings"):
        nt_xent()(torch.zeros(4, 5), torch.zeros(4))


RANK = """
import sys, torch, torch.distributed as dist
from torchstone.engines.pytorch.losses.info_nce import info_nce
from torchstone.engines.pytorch.losses.nt_xent import nt_xent
torch.set_num_threads(1)
rank, world = int(sys.argv[1]), 3
dist.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=world)
views = torch.load(sys.argv[3], weights_only=True)
mine = [slice(0, 3), slice(3, 7), slice(7, 7)][rank]  # the last rank has no example
for loss in (info_nce(temperature=0.2), info_nce(temperature=0.2, symmetric=True), nt_xent(temperature=0.2)):
    leaf = views.clone().requires_grad_()
    total, weight = loss(leaf[mine], torch.zeros(len(views[mine])))
    total.backward()
    got = torch.tensor([float(total.detach()), float(weight)], dtype=torch.float64)
    dist.all_reduce(got)
    dist.all_reduce(leaf.grad)  # as the loop does: gradients are summed over ranks
    alone = views.clone().requires_grad_()
    with torch.no_grad():
        value, num = loss(views, torch.zeros(7))  # outside training no rank waits for the others
    assert abs(got[0] - float(value)) < 1e-9 * float(value) and got[1] == num, (got, value)
    with torch.enable_grad():
        dist_is_initialized, dist.is_initialized = dist.is_initialized, lambda: False
        loss(alone, torch.zeros(7))[0].backward()
        dist.is_initialized = dist_is_initialized
    assert torch.allclose(leaf.grad, alone.grad, rtol=1e-9), (leaf.grad, alone.grad)
dist.destroy_process_group()
print("equal")
"""


@pytest.mark.integration
def test_three_ranks_that_gather_give_the_value_and_the_slopes_of_one(tmp_path: Path):
    torch.save(torch.tensor(VIEWS), tmp_path / "views.pt")
    words = [str(tmp_path / "meeting"), str(tmp_path / "views.pt")]
    ranks = [
        subprocess.Popen([sys.executable, "-c", RANK, str(rank), *words], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
        for rank in range(3)
    ]
    for rank in ranks:
        out, err = rank.communicate(timeout=200)
        assert out.strip() == "equal", err[-2000:]
