"""What the first loss should be: against the formula, and against the false alarms of log K alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from torchstone.core.recipe import Rules
from torchstone.engines.pytorch.losses.binary_cross_entropy import binary_cross_entropy
from torchstone.engines.pytorch.losses.cross_entropy import cross_entropy
from torchstone.engines.pytorch.losses.focal import focal
from torchstone.engines.pytorch.losses.logit_adjusted import logit_adjusted
from torchstone.engines.pytorch.losses.mse import mse
from torchstone.engines.pytorch.preflight.bench import Bench, kind_of
from torchstone.engines.pytorch.preflight.loss import first_loss
from torchstone.flows.judge import judge

FOLDER = "torchstone.rules.preflight"


def row_of(scores: Tensor, target: Tensor, loss: Any = None, value: float | None = None) -> dict[str, Any]:
    """The row of these outputs under a loss of ours (sum, weight), or one that gives the mean."""

    def mean(output: Tensor, wanted: Tensor) -> Tensor:
        made = (loss or cross_entropy())(output, wanted)
        return made[0] / made[1] if isinstance(made, tuple) else made

    bench = Bench(nn.Identity(), None, target, lambda m, i: scores, lambda m, i: scores, mean, lambda m: None, None,
                  kind_of(scores, target))  # fmt: skip
    return first_loss(bench, scores, float(mean(scores, target)) if value is None else value)


def codes(row: dict[str, Any]) -> list[str]:
    return [finding.code for finding in judge([row], FOLDER, Rules())]


def random_outputs(num: int, classes: int, spread: float, seed: int = 0) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(num, classes, generator=draw) * spread, torch.randint(classes, (num,), generator=draw)


@pytest.mark.parametrize("spread", [0.1, 0.5, 1.0])
def test_outputs_that_spread_cost_half_their_variance_more(spread):
    """E[log sum exp] of K normal outputs is log K + s^2 / 2 for many classes; the mean of the right output is 0."""
    row = row_of(*random_outputs(2000, 500, spread))
    assert row["guess"] == pytest.approx(math.log(500), abs=1e-4)
    assert row["expected"] == pytest.approx(math.log(500) + spread**2 / 2, abs=0.05)
    assert codes(row) == []


def test_the_expected_loss_is_that_of_targets_drawn_at_random():
    scores, target = random_outputs(64, 5, 0.7)
    shuffled = [F.cross_entropy(scores, torch.randint(5, (64,), generator=torch.Generator().manual_seed(i)))
                for i in range(400)]  # fmt: skip
    row = row_of(scores, target)
    assert row["expected"] == pytest.approx(float(np.mean(shuffled)), abs=0.1)


def test_of_200_healthy_two_class_starts_none_is_called_odd_where_log_k_calls_many():
    """Scaled inputs and He's initialisation of both layers, as many write it."""
    odd = cried = 0
    for seed in range(200):
        torch.manual_seed(seed)
        x = torch.randn(64, 10)
        target = (x[:, 0] + 0.3 * torch.randn(64) > 0).long()
        net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
        nn.init.kaiming_normal_(net[0].weight)
        nn.init.kaiming_normal_(net[2].weight)
        row = row_of(net(x).detach(), target)
        cried += abs(row["value"] / math.log(2) - 1) > 0.5
        odd += bool(codes(row))
    assert (cried > 40, odd) == (True, 0), (cried, odd)


@pytest.mark.parametrize(
    ("loss", "guess"),
    [
        (cross_entropy(label_smoothing=0.1), math.log(4)),
        (cross_entropy(class_weights=[1.0, 2.0, 5.0, 9.0]), math.log(4)),
        (focal(gamma=2.0), 0.75**2 * math.log(4)),
    ],
)
def test_guessing_costs_what_the_formula_says_with_weights_smoothing_and_focus(loss, guess):
    scores, target = random_outputs(256, 4, 0.4)
    target = torch.where(torch.rand(256, generator=torch.Generator().manual_seed(1)) < 0.7, 0, target)  # imbalanced
    row = row_of(scores, target, loss)
    assert row["guess"] == pytest.approx(guess, rel=1e-5)
    assert codes(row) == []


def test_a_loss_that_is_adjusted_in_training_alone_is_judged_as_in_training():
    scores, target = random_outputs(256, 3, 0.3)
    shares = torch.tensor([0.9, 0.07, 0.03])
    row = row_of(scores, target, logit_adjusted(class_counts=[900, 70, 30]))
    assert row["guess"] == pytest.approx(float(-shares.log()[target].mean()), rel=1e-4)
    assert codes(row) == []


def test_yes_or_no_labels_cost_log_2_and_numbers_what_their_mean_costs():
    draw = torch.Generator().manual_seed(3)
    scores = torch.randn(64, 6, generator=draw) * 0.3
    labels = (torch.rand(64, 6, generator=draw) < 0.2).float()
    row = row_of(scores, labels, binary_cross_entropy())
    assert (row["kind"], row["guess"]) == ("labels", pytest.approx(math.log(2), rel=1e-5))
    assert codes(row) == []
    numbers = torch.randn(64, generator=draw)
    row = row_of(scores[:, :1], numbers, mse())
    assert (row["kind"], row["guess"]) == ("numbers", pytest.approx(float(numbers.var(unbiased=False)), rel=1e-4))
    assert codes(row) == []


def test_mixed_targets_are_classes():
    scores, target = random_outputs(64, 5, 0.3)
    mixed = 0.6 * F.one_hot(target, 5).float() + 0.4 * F.one_hot(target.roll(1), 5).float()
    row = row_of(scores, mixed)
    assert (row["kind"], row["num_outputs"], row["num_targets"]) == ("classes", 5, 64)
    assert codes(row) == []


def test_outputs_that_know_the_answer_are_told_and_weights_that_were_given_are_not():
    scores, target = random_outputs(64, 10, 0.1)
    known = scores + 4.0 * F.one_hot(target, 10)
    row = row_of(known, target)
    assert codes(row) == ["RUN703"]
    assert codes({**row, "is_fresh": False}) == []


def test_outputs_that_are_far_too_large_are_told_with_their_spread():
    scores, target = random_outputs(64, 10, 30.0)
    assert codes(row_of(scores, target)) == ["RUN704"]
    numbers = 500 + torch.randn(64)
    assert codes(row_of(torch.zeros(64, 1), numbers, mse())) == ["RUN704"]


def test_a_sum_over_the_batch_is_told_and_its_mean_is_not():
    scores, target = random_outputs(64, 10, 0.3)
    assert codes(row_of(scores, target, lambda o, t: F.cross_entropy(o, t, reduction="sum"))) == ["RUN712"]
    assert codes(row_of(scores, target, F.cross_entropy)) == []


def test_a_language_models_outputs_are_judged_on_either_axis():
    draw = torch.Generator().manual_seed(0)
    scores, target = torch.randn(4, 20, 30, generator=draw) * 0.2, torch.randint(30, (4, 20), generator=draw)
    last = row_of(scores, target, lambda o, t: F.cross_entropy(o.flatten(0, 1), t.flatten()))
    middle = row_of(scores.transpose(1, 2), target, F.cross_entropy)
    assert last["guess"] == pytest.approx(math.log(30), rel=1e-4)
    assert (last["num_outputs"], middle["num_outputs"]) == (30, 30)
    assert last["expected"] == pytest.approx(middle["expected"], rel=1e-5)


def test_no_generator_is_drawn_from():
    scores, target = random_outputs(64, 5, 0.7)
    before = torch.get_rng_state()
    row_of(scores, target)
    assert torch.equal(before, torch.get_rng_state())
