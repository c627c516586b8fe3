"""The doctor in our own loop: it sees, tells while the run goes on, and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import nn

from conftest import blobs, toy_job
from torchstone.core.event import Event, Observer, Stop
from torchstone.core.finding import Finding
from torchstone.core.recipe import Rules
from torchstone.engines.pytorch import snapshot
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.sources.tensors import TensorSource
from torchstone.engines.pytorch.watched import Learnt, attended
from torchstone.flows.own_doctor import doctor_of_a_run


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake of the doctor's own is an error here."""
    monkeypatch.setenv("TORCHSTONE_STRICT", "1")


def watched(job: Job, observers: Sequence[Observer] = (), rules: Rules | None = None) -> tuple[Progress, list[Event]]:
    """Trains under the doctor; where it ended, and the events of its findings."""
    told: list[Event] = []

    def keep(event: Event) -> None:
        if event.kind == "finding":
            told.append(event)

    others = [*observers, keep]
    make = doctor_of_a_run(rules or Rules())
    with attended(job, make, others, Learnt("cross_entropy", ["a", "b", "c"]), step=0) as attending:
        progress = fit(job, Progress(), [*attending, *others])
    return progress, told


def codes(told: Sequence[Event]) -> list[str]:
    """The codes of findings, in the order in which they were told."""
    return [str(event.values["code"]) for event in told]


def dead_net() -> nn.Module:
    """A net whose first layer never fires: its biases are far below zero."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    nn.init.constant_(net[0].bias, -1e3)
    return net


def half_used_net() -> nn.Module:
    """A net with a second head that its forward pass never uses."""
    return HalfUsed()


class HalfUsed(nn.Module):
    """Two heads, of which one answers."""

    def __init__(self) -> None:
        super().__init__()
        self.head, self.spare = nn.Linear(8, 3), nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x float32 [B, 8] → logits [B, 3]."""
        logits: torch.Tensor = self.head(x)
        return logits


def long_job(model: nn.Module) -> Job:
    """72 steps of 25 examples."""
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    return toy_job(model=model, optimizer=optimizer, epochs=24, batch_size=25, average=None)


def test_the_weights_are_the_same_bit_for_bit_with_and_without_it() -> None:
    ends = []
    for is_watched in (False, True):
        job = toy_job(epochs=8)
        progress = watched(job)[0] if is_watched else fit(job, Progress())
        content = snapshot.take(job, progress)
        ends.append({f"{part}/{name}": v for part, tensors in content.tensors.items() for name, v in tensors.items()})
    assert ends[0].keys() == ends[1].keys()
    assert all(torch.equal(value, ends[1][name]) for name, value in ends[0].items())


def test_a_sound_run_is_quiet_and_no_hook_is_left() -> None:
    job = toy_job(epochs=8)
    _, told = watched(job)
    assert codes(told) == []
    assert not any(module._forward_hooks for module in job.model.modules())
    assert not job.optimizer._optimizer_step_pre_hooks


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("RUN604", {"model": dead_net}),
        ("RUN306", {"model": half_used_net}),
        ("RUN603", {"rate": 1e-10}),
        ("RUN502", {"factor": 1000.0}),
    ],
)
def test_a_sick_run_gets_its_finding_while_it_goes_on(code: str, changes: dict[str, Any]) -> None:
    clean = blobs()
    inputs = clean.batch(torch.arange(len(clean)).numpy(), None).inputs[0] * changes.get("factor", 1.0)
    source = TensorSource([inputs], torch.arange(len(clean)) % 3)
    model = changes["model"]() if "model" in changes else nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=changes.get("rate", 1e-3))
    job = toy_job(source=source, model=model, optimizer=optimizer, epochs=24, batch_size=25, average=None)
    progress, told = watched(job)
    assert code in codes(told)
    first = next(event for event in told if event.values["code"] == code)
    assert first.step < progress.step
    assert Finding.from_json(first.values).where.path is None  # no line of the user's made the loop


def test_an_observer_that_hears_of_a_finding_may_end_the_run() -> None:
    def stop(event: Event) -> Stop | None:
        return Stop(f"the doctor found {event.values['code']}") if event.kind == "finding" else None

    model = dead_net()
    job = long_job(model)
    progress, told = watched(job, [stop])
    assert (progress.status, progress.reason) == ("stopped", "the doctor found RUN604")
    assert progress.step == told[0].step < 24 * 3


def test_what_a_recipe_ignores_is_not_told_and_its_severities_are_used() -> None:
    found = []
    for rules in (Rules(ignore=["RUN604"]), Rules(severity={"RUN604": "advice"})):
        model = dead_net()
        job = long_job(model)
        found.append([(e.values["code"], e.values["severity"]) for e in watched(job, rules=rules)[1]])
    assert ("RUN604", "advice") in found[1]
    assert "RUN604" not in dict(found[0])


def test_a_recipe_that_ignores_the_family_has_no_doctor() -> None:
    assert doctor_of_a_run(Rules(ignore=["RUN"])) is None

