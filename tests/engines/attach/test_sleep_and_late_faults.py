"""The doctor sleeps where looking would cost too much; what begins late is found all the same."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import lr_scheduler
from torch.optim import optimizer as optimizers
from torch.utils.data import DataLoader, TensorDataset

import torchstone as ts
from torchstone.core.finding import Finding
from torchstone.engines.attach import movement, recorder
from torchstone.engines.attach.recorder import ALARMS, WHOLE, WINDOW
from torchstone.flows.watch import Doctor

STEPS, LATE = 1600, 1203


class Clock:
    """Time that the tests make: 1 ms a step of the loop, and 5 µs each time it is asked, so that looking is dear."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 5e-6
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The doctor's clock, the same on every machine."""
    made = Clock()
    monkeypatch.setattr(recorder, "clock", made)
    return made


class Loop:
    """A small loop of `STEPS` steps under a doctor; what `change(step)` gives is done at that step instead."""

    def __init__(self, clock: Clock, *, to_none: bool = True) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.ReLU(), nn.Linear(8, 2))
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.05)
        self.x = torch.randn(32, 4)
        self.y = (self.x[:, 0] > 0).long()
        self.clock, self.to_none, self.at = clock, to_none, 0
        self.heard: dict[str, int] = {}
        self.awake: list[int] = []

    def hear(self, finding: Finding) -> None:
        """Keeps the step at which a finding was told."""
        self.heard[finding.code] = self.at

    def step(self, doctor: Doctor | None = None, *, factor: float = 1.0, clears: bool = True) -> Tensor:
        """One step; its loss."""
        self.at += 1
        self.clock.now += 1e-3
        if clears:
            self.optimizer.zero_grad(set_to_none=self.to_none)
        loss = F.cross_entropy(self.model(self.x), self.y) * factor
        loss.backward()
        self.optimizer.step()
        if doctor is not None and is_awake(doctor):
            self.awake.append(self.at)
        return loss

    def evaluate(self) -> None:
        """A pass in eval mode, which leaves the model there."""
        self.model.eval()
        with torch.no_grad():
            F.cross_entropy(self.model(self.x), self.y)

    def watch(self, change: Callable[[int], dict[str, float | bool] | None] = lambda step: None) -> Doctor:
        """All steps under a doctor, which is taken off afterwards."""
        with ts.watch(self.model, self.optimizer, callback=self.hear, is_quiet=True) as doctor:
            for number in range(1, STEPS + 1):
                self.step(doctor, **(change(number) or {}))  # type: ignore[arg-type]
        assert doctor.mistakes == {}
        return doctor

    @property
    def weights(self) -> Tensor:
        """All of them in one vector."""
        return torch.cat([value.detach().reshape(-1) for value in self.model.parameters()])


def is_awake(doctor: Doctor) -> bool:
    """Whether the doctor looks at what happens."""
    return bool(doctor._wiring.recorder.is_awake)


def hooks_on(model: nn.Module) -> int:
    """Hooks on the gradients of a model's parameters."""
    return sum(len(p._backward_hooks or ()) + len(p._post_accumulate_grad_hooks or ()) for p in model.parameters())


def test_it_sees_the_first_steps_whole_then_windows_that_cost_half_a_percent(clock: Clock) -> None:
    loop = Loop(clock)
    doctor = loop.watch()
    first, later = [at for at in loop.awake if at < WHOLE], [at for at in loop.awake if at >= WHOLE]
    assert first == list(range(1, WHOLE))
    starts = [at for at in later if at - 1 not in later]
    assert len(starts) >= 3, "it wakes again and again"
    assert all(at in later for start in starts for at in range(start, start + WINDOW - 1))
    spent = doctor._wiring.recorder.own_s
    assert 0.001 < spent < 0.01 * STEPS * 1e-3 * 2
    assert doctor.rows[-1]["num_forwards"] == doctor.rows[-1]["num_backwards"] == STEPS, "counts are whole"


def test_asleep_no_gradient_is_hooked_and_awake_it_is_again(clock: Clock) -> None:
    loop = Loop(clock)
    seen = {True: set[int](), False: set[int]()}
    with ts.watch(loop.model, loop.optimizer, is_quiet=True) as doctor:
        for number in range(STEPS // 2):
            loop.step(doctor)
            if number > 5:
                seen[is_awake(doctor)].add(hooks_on(loop.model))
    assert seen == {True: {2}, False: {0}}
    assert hooks_on(loop.model) == 0
    assert not loop.model._forward_hooks
    assert not optimizers._global_optimizer_post_hooks


@pytest.mark.parametrize("steps", [WHOLE - 1, WHOLE + 5, 420])
def test_nothing_is_left_whether_it_ends_awake_or_asleep(clock: Clock, steps: int) -> None:
    before = torch.autograd.backward, F.cross_entropy, nn.Module.__init__
    loop = Loop(clock)
    with ts.watch(loop.model, loop.optimizer, is_quiet=True) as doctor:
        for _ in range(steps):
            loop.step(doctor)
    assert hooks_on(loop.model) == 0
    assert not loop.model._forward_hooks
    assert (torch.autograd.backward, F.cross_entropy, nn.Module.__init__) == before


def test_the_weights_are_the_same_bit_for_bit_through_sleep_and_windows(clock: Clock) -> None:
    watched, alone = Loop(clock), Loop(clock)
    torch.manual_seed(1)
    watched.watch()
    torch.manual_seed(1)
    for _ in range(STEPS):
        alone.step()
    assert torch.equal(watched.weights, alone.weights)


def test_a_sound_loop_with_evaluations_raises_no_alarm_and_no_finding(clock: Clock) -> None:
    loop = Loop(clock)

    def change(step: int) -> None:
        loop.model.train()
        if step % 100 == 0:
            loop.evaluate()
            loop.model.train()

    doctor = loop.watch(change)
    assert doctor.findings == []
    assert doctor._wiring.recorder._alarms == ALARMS


def test_a_nan_late_in_a_sleep_is_told_within_a_window(clock: Clock) -> None:
    loop = Loop(clock)
    doctor = loop.watch(lambda step: {"factor": math.nan if step >= LATE else 1.0})
    assert LATE - 1 not in loop.awake
    assert LATE <= loop.heard["RUN601"] <= LATE + WINDOW
    assert next(row["step"] for row in doctor.rows if row["event"] == "non_finite") == LATE


def test_a_model_that_stays_in_eval_late_is_told_within_a_window(clock: Clock) -> None:
    loop = Loop(clock)
    loop.watch(lambda step: loop.evaluate() if step == LATE else None)
    assert LATE - 1 not in loop.awake
    assert LATE <= loop.heard["RUN321"] <= LATE + WINDOW


def test_gradients_that_are_no_longer_cleared_are_told_within_a_window(clock: Clock) -> None:
    loop = Loop(clock)
    loop.watch(lambda step: {"clears": step < LATE})
    assert LATE - 1 not in loop.awake
    assert LATE <= loop.heard["RUN301"] <= LATE + WINDOW


def test_where_they_are_zeroed_in_place_the_next_window_shows_it(clock: Clock) -> None:
    loop = Loop(clock, to_none=False)
    doctor = loop.watch(lambda step: {"clears": step < LATE - 300})
    assert doctor._wiring.recorder._alarms == ALARMS
    assert LATE - 300 <= loop.heard["RUN301"] <= STEPS


def test_losses_that_are_kept_with_their_graphs_late_are_found(clock: Clock) -> None:
    loop, kept = Loop(clock), []
    with ts.watch(loop.model, loop.optimizer, callback=loop.hear, is_quiet=True) as doctor:
        for number in range(STEPS):
            loss = loop.step(doctor)
            if number > LATE - 300:
                kept.append(loss)
    assert "RUN325" in [finding.code for finding in doctor.findings]


@pytest.mark.parametrize("is_kept", [True, False])
def test_memory_that_grows_is_told_asleep(clock: Clock, monkeypatch: pytest.MonkeyPatch, is_kept: bool) -> None:
    monkeypatch.setattr(movement, "SIZES", 32)
    loop, kept = Loop(clock), []
    monkeypatch.setattr(movement, "resident_mib", lambda: 700.0 + 0.5 * len(kept))  # what a process holds anyway varies

    def keep(step: int) -> None:
        if is_kept:
            kept.append(step)

    doctor = loop.watch(keep)
    sizes = [row for row in doctor.rows if row["event"] == "sizes"]
    assert len(sizes) == 1
    assert 16 <= len(sizes[0]["steps"]) == len(sizes[0]["memory_mib"]) < 32, "thinned out"
    assert sizes[0]["steps"] == sorted(sizes[0]["steps"])
    assert sizes[0]["steps"][-1] > STEPS - 16 * WINDOW
    assert ("RUN610" in [finding.code for finding in doctor.findings]) == is_kept


def test_a_schedule_that_runs_past_its_end_in_a_sleep_is_found(clock: Clock) -> None:
    loop = Loop(clock)
    schedule = lr_scheduler.CosineAnnealingLR(loop.optimizer, 1000)
    loop.watch(lambda step: schedule.step() if step > 1 else None)
    assert "RUN319" in loop.heard


def test_a_validation_that_forgets_eval_late_is_found_asleep(clock: Clock) -> None:
    loop = Loop(clock)
    x = torch.randn(480, 4)
    y = (x[:, 0] > 0).long()
    train = DataLoader(TensorDataset(x[:400], y[:400]), 8, shuffle=True)
    held_out = DataLoader(TensorDataset(x[400:], y[400:]), 40)
    with ts.watch(loop.model, loop.optimizer, callback=loop.hear, is_quiet=True) as doctor:
        for epoch in range(20):
            loop.model.train()
            for loop.x, loop.y in train:
                loop.step(doctor)
            loop.model.train(epoch >= 15)
            with torch.no_grad():
                for inputs, target in held_out:
                    F.cross_entropy(loop.model(inputs), target)
    passes = [row for row in doctor.rows if row["event"] == "pass"]
    assert all(row["forwards"] == row["batches"] == row["of"] // row["batch_size"] for row in passes)
    assert {finding.code for finding in doctor.findings} == {"RUN322"}


def test_alarms_are_few_where_a_loop_changes_its_mode_all_the_time(clock: Clock) -> None:
    loop = Loop(clock)

    def change(step: int) -> None:
        loop.model.train(step % 2 == 0 or step < WHOLE)

    loop.watch(change)
    assert len(loop.awake) < STEPS / 3
