"""Momentum that a schedule moves, against torch.optim.lr_scheduler.OneCycleLR, in the loop and over a resume."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from conftest import small_net, toy_job
from torchstone.core.errors import StoneError
from torchstone.core.event import Stop
from torchstone.engines.pytorch import checkpoint, snapshot
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.optimizers.adafactor import adafactor
from torchstone.engines.pytorch.optimizers.adam import adam
from torchstone.engines.pytorch.optimizers.muon import muon
from torchstone.engines.pytorch.optimizers.nadam import nadam
from torchstone.engines.pytorch.optimizers.rmsprop import rmsprop
from torchstone.engines.pytorch.optimizers.sam import sam
from torchstone.engines.pytorch.optimizers.schedule_free import schedule_free
from torchstone.engines.pytorch.optimizers.sgd import sgd
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.rates import check_momentum
from torchstone.parts.schedules import WithMomentum
from torchstone.parts.schedules.cosine import cosine
from torchstone.parts.schedules.one_cycle import one_cycle

TOTAL = 24
MAKERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": lambda groups: sgd(groups, lr=0.1), "adam": lambda groups: adam(groups, lr=1e-2), "nadam": nadam,
    "muon": muon, "sam": sam,
}  # fmt: skip


def job_with(name: str, folder: Path | None = None) -> Job:
    """The toy job, 24 steps, with this optimizer and one cycle."""
    model = small_net()
    optimizer = MAKERS[name]([{"params": list(model.parameters()), "weight_decay": 0.01}])
    return toy_job(folder, model=model, optimizer=optimizer, schedule=one_cycle())


def momentum_of(group: dict[str, Any]) -> float:
    return float(group["betas"][0] if "betas" in group else group["momentum"])


@pytest.mark.parametrize(("name", "make", "rate"), [
    ("sgd", torch.optim.SGD, 0.1), ("adam", torch.optim.Adam, 1e-2), ("nadam", torch.optim.NAdam, 2e-3),
])
def test_rate_and_momentum_of_every_step_are_those_of_torch(name: str, make: Any, rate: float) -> None:
    reference = make([torch.nn.Parameter(torch.zeros(1))], lr=rate, **({"momentum": 0.9} if name == "sgd" else {}))
    expected = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scheduler = torch.optim.lr_scheduler.OneCycleLR(reference, rate, TOTAL)
        for _ in range(TOTAL):
            expected += [reference.param_groups[0]["lr"], momentum_of(reference.param_groups[0])]
            reference.step()
            scheduler.step()
    job = job_with(name)
    seen: list[float] = []
    job.optimizer.register_step_pre_hook(
        lambda optimizer, *_: seen.extend([optimizer.param_groups[0]["lr"], momentum_of(optimizer.param_groups[0])])
    )
    fit(job, Progress())
    assert seen == pytest.approx(expected, rel=1e-12)
    assert min(seen[1::2]) == pytest.approx(0.85, abs=0.01)
    assert seen[1] == 0.95


def test_every_group_follows_also_those_of_two_optimizers_in_one() -> None:
    job = job_with("muon")
    fit(job, Progress())
    assert {type(part).__name__ for part in job.optimizer.parts} == {"Muon", "AdamW"}  # type: ignore[attr-defined]
    assert {momentum_of(group) for group in job.optimizer.param_groups} == {0.95}


@pytest.mark.parametrize("name", MAKERS)
def test_a_run_that_is_cut_and_resumed_ends_with_the_same_weights(name: str, tmp_path: Path) -> None:
    whole = job_with(name)
    fit(whole, Progress())
    fit(job_with(name, tmp_path), Progress(), [lambda e: Stop("cut") if e.kind == "step" and e.step == 11 else None])
    again = job_with(name)
    progress, _ = snapshot.restore(again, checkpoint.read(checkpoint.listed(tmp_path)[0]))
    fit(again, progress)
    assert progress.step == TOTAL
    assert all(torch.equal(value, again.model.state_dict()[key]) for key, value in whole.model.state_dict().items())


@pytest.mark.parametrize("make", [
    adafactor, rmsprop, schedule_free, lambda groups: sgd(groups, momentum=0.0),
    lambda groups: adam(groups, betas=(0.0, 0.99)),
])
def test_an_optimizer_without_momentum_is_refused(make: Callable[..., torch.optim.Optimizer]) -> None:
    optimizer = make([{"params": list(small_net().parameters())}])
    with pytest.raises(StoneError, match="this optimizer has none"):
        check_momentum(one_cycle(), optimizer)
    check_momentum(one_cycle(momentum=None), optimizer)
    check_momentum(cosine(), optimizer)


def test_momentum_stays_where_the_schedule_says_nothing_of_it() -> None:
    assert not isinstance(one_cycle(momentum=None), WithMomentum)
    job = toy_job(schedule=one_cycle(momentum=None))
    fit(job, Progress())
    assert job.optimizer.param_groups[0]["betas"] == (0.9, 0.999)
