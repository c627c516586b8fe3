"""Schedules against torch's own schedulers."""

from __future__ import annotations

import warnings

import pytest
import torch

from torchstone.parts.schedules.constant import constant
from torchstone.parts.schedules.cosine import cosine
from torchstone.parts.schedules.linear import linear
from torchstone.parts.schedules.one_cycle import one_cycle

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
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_each_step_equals_that_of_torch(case):
    schedule, make = CASES[case]
    assert [schedule(step, TOTAL) for step in range(TOTAL)] == pytest.approx(rates(make), rel=1e-9, abs=1e-12)
