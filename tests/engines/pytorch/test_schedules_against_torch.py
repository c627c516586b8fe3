"""Schedules against torch's own schedulers."""

from __future__ import annotations

import warnings

import pytest
import torch

from torchstone.parts.schedules.constant import constant
from torchstone.parts.schedules.cosine import cosine
from torchstone.parts.schedules.cosine_restarts import cosine_restarts
from torchstone.parts.schedules.exponential import exponential
from torchstone.parts.schedules.linear import linear
from torchstone.parts.schedules.one_cycle import one_cycle
from torchstone.parts.schedules.plateau import plateau
from torchstone.parts.schedules.polynomial import polynomial
from torchstone.parts.schedules.step import step

TOTAL = 40


def rates(make) -> list[float]:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = make(optimizer)
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(TOTAL):
            seen.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
    return seen


CASES = [
    (cosine(warmup=0, floor=0.1), lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, TOTAL, eta_min=0.1)),
    (linear(warmup=0, floor=0.2), lambda o: torch.optim.lr_scheduler.LinearLR(o, 1.0, 0.2, TOTAL)),
    (constant(warmup=5), lambda o: torch.optim.lr_scheduler.LinearLR(o, 0.2, 1.0, 4)),
    (one_cycle(), lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 1.0, TOTAL, cycle_momentum=False)),
    (one_cycle(peak=0.4), lambda o: torch.optim.lr_scheduler.OneCycleLR(
        o, 1.0, TOTAL, pct_start=0.4, cycle_momentum=False)),
    (polynomial(power=1.5, warmup=0), lambda o: torch.optim.lr_scheduler.PolynomialLR(o, TOTAL, power=1.5)),
    (step(milestones=(7, 30), factor=0.3), lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [7, 30], gamma=0.3)),
    (exponential(end=0.5, warmup=0), lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.5 ** (1 / TOTAL))),
    (cosine_restarts(cycles=4, growth=1.0, warmup=0), lambda o: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(
        o, TOTAL // 4)),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_each_step_equals_that_of_torch(case):
    schedule, make = CASES[case]
    assert [schedule(step, TOTAL) for step in range(TOTAL)] == pytest.approx(rates(make), rel=1e-9, abs=1e-12)


def test_plateau_equals_that_of_torch_where_every_metric_is_a_number():
    metrics = [1.0, 0.5, 0.6, 0.5, 0.49999, 0.7, 0.4, 0.4, 0.41, 0.4, 0.4, 0.4, 0.4, 0.4, 0.2, 0.3, 0.3, 0.3, 0.3]
    for options in ({"patience": 2}, {"patience": 1, "cooldown": 2, "factor": 0.5}, {"patience": 0, "threshold": 0.1}):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options, eps=0.0)
        rule, state = plateau(**options), {}
        for metric in metrics:
            scheduler.step(metric)
            state = rule.update(state, metric)
            assert rule.multiplier(state) == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-12)
