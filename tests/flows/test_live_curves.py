"""Rules of curves while a run goes on: said once and late enough, taken back where the whole run does not show it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from torchstone.core.event import Event
from torchstone.core.finding import Finding
from torchstone.core.recipe import Rules
from torchstone.core.trace import TraceWriter
from torchstone.flows.ask_curves import ASKED, FEWEST_STEPS, LIVE, PATIENCE, asked_curves, patient
from torchstone.flows.own_doctor import RunDoctor, doctor_of_a_run, judge_trace
from torchstone.flows.watch import Doctor
from torchstone.rules._curves import toy_history
from torchstone.rules._watched import toy_loop, toy_loss, toy_pass

Course = Callable[[int], float]


class NoWiring:
    """Hooks nothing; its recorder holds the rows that it is given."""

    def __init__(self, recorder) -> None:
        self.recorder = recorder

    def attach(self) -> None: ...

    def take(self, model=None, optimizer=None) -> None: ...

    def detach(self) -> None: ...


def run(train: Course, validation: Course, num: int = 60, rules: Rules | None = None, trace: Path | None = None):
    """Tells a doctor of `num` epochs of ten steps; its findings with the step of each, its notes, and the trace."""
    told: list[tuple[int, Finding]] = []
    rows: list[dict] = []
    step = 0
    make = doctor_of_a_run(rules or Rules(), trace)
    assert make is not None

    def hear(finding: Finding) -> None:
        told.append((step, finding))
        rows.append({"event": "finding", "step": step, **finding.to_json()})

    doctor = make(hear)
    doctor.start(wiring=NoWiring)
    notes: list[str] = []
    for epoch in range(num):
        for _ in range(10):
            step += 1
            values = {"loss": train(step), "lr": 1e-3, "skipped": None, "grad_norm": 1.0}
            rows.append({"event": "step", "step": step, **values})
            notes += doctor.listen(Event("step", step, values))
        values = {"metrics": {"loss": validation(epoch), "accuracy": 0.6}}
        rows.append({"event": "validation", "step": step, **values})
        notes += doctor.listen(Event("validation", step, values))
    notes += doctor.listen(Event("finish", step, {"status": "finished"}))
    doctor.stop()
    assert doctor.mistakes == {}
    return told, notes, rows


def falls(step: float) -> float:
    """A sound training loss."""
    return 0.2 + 2 * math.exp(-step / 100) + 0.01 * math.sin(7 * step)


def rises(epoch: int) -> float:
    """A validation loss that is best at epoch 10 and climbs then."""
    return 0.5 + 1.8 * 0.7**epoch + 0.03 * max(0, epoch - 10)


def test_only_rules_that_are_asked_at_the_end_are_asked_live():
    assert set(LIVE) < set(ASKED)
    assert {rule.code for rule in patient(asked_curves(Rules()))} == set(LIVE)
    assert not {"RUN805", "RUN808", "RUN809", "RUN811"} & set(LIVE)  # a plateau may fall later


def test_overfitting_is_told_once_while_the_run_goes_on_and_is_one_finding_with_the_numbers_of_the_end():
    told, notes, rows = run(falls, rises)
    assert [finding.code for _, finding in told] == ["RUN806"]
    assert told[0][0] < 0.5 * 600
    assert notes == []
    found = judge_trace(rows, Rules())
    assert [finding.code for finding in found] == ["RUN806"]
    assert found[0].evidence["last"] == pytest.approx(rises(59))


def test_a_first_sight_is_not_enough():
    told, _, _ = run(falls, rises)
    rule = next(rule for rule in asked_curves(Rules()) if rule.code == "RUN806")
    first = next(
        num for num in range(6, 60)
        if list(rule.check(toy_history(num, train=lambda e: falls(10 * e), validation=rises, score=None)))
    )
    assert told[0][0] >= PATIENCE * 10 * first


def test_what_the_whole_run_does_not_show_is_taken_back():
    def rises_then_falls(epoch: int) -> float:
        return rises(epoch) if epoch < 30 else 1.1 * 0.9 ** (epoch - 30)

    told, notes, rows = run(falls, rises_then_falls)
    assert [finding.code for _, finding in told] == ["RUN806"]
    assert notes == [f"RUN806 of step {told[0][1].where.step} is taken back: the whole run does not show it"]
    assert judge_trace(rows, Rules()) == []
    assert judge_trace(rows, Rules(), has_curves=False) == []


def test_a_loss_that_climbs_is_told_before_the_end_but_not_of_the_first_steps():
    told, _, _ = run(lambda step: 0.5 * math.exp(step / 150), lambda epoch: 0.7)
    assert "RUN803" in [finding.code for _, finding in told]
    assert min(step for step, finding in told if finding.code == "RUN803") >= PATIENCE * FEWEST_STEPS
    told, _, _ = run(lambda step: 0.5 * math.exp(step / 50), lambda epoch: 0.7, num=FEWEST_STEPS // 10)
    assert told == []  # RUN609 tells that of the steps themselves


def test_a_warm_up_that_throws_the_loss_up_for_a_while_is_not_told():
    def climbs_first(step: int) -> float:
        return falls(step) + (6.0 if 20 < step < 150 else 0.0)

    assert run(climbs_first, lambda epoch: falls(10 * epoch))[0] == []


def test_a_plateau_that_falls_later_is_never_told():
    def steps_down(step: int) -> float:
        return 2.0 + 0.01 * math.sin(7 * step) if step < 400 else 0.4 + 0.01 * math.sin(7 * step)

    told, notes, _ = run(steps_down, lambda epoch: steps_down(10 * epoch))
    assert (told, notes) == ([], [])


def test_a_perfect_first_score_is_told_at_once():
    rules = patient(asked_curves(Rules()))
    leaky = toy_history(3, score=lambda e: 1.0, validation=lambda e: 0.001, train_score=lambda e: 0.8,
                        train=lambda e: 0.5 + 0.5 * 0.9**e)  # fmt: skip
    assert [found.code for rule in rules for found in rule.check(leaky)] == ["RUN812"]


def test_a_resumed_run_goes_on_with_the_curves_of_its_trace_and_tells_nothing_twice(tmp_path):
    _, _, rows = run(falls, rises, num=40)
    path = tmp_path / "trace.jsonl"
    writer = TraceWriter(path)
    for row in rows:
        writer.append(row)
    writer.close()
    heard: list[Finding] = []
    doctor = RunDoctor(Rules(), [], heard.append, path)
    doctor.start(wiring=NoWiring)
    for epoch in range(40, 60):
        doctor.listen(Event("validation", 10 * epoch + 10, {"metrics": {"loss": rises(epoch)}}))
    assert heard == []
    doctor.listen(Event("validation", 610, {"metrics": {"loss": 0.01}}))
    assert doctor.listen(Event("finish", 610, {}))[0].startswith("RUN806")


def test_what_the_recipe_ignores_is_not_told_and_severities_are_obeyed():
    assert run(falls, rises, rules=Rules(ignore=["RUN806"]))[0] == []
    told = run(falls, rises, rules=Rules(severity={"RUN806": "warning"}))[0]
    assert [finding.severity for _, finding in told] == ["warning"]


def test_looks_at_a_long_run_cost_microseconds_a_step():
    began = time.process_time()
    doctor = RunDoctor(Rules(), [], lambda finding: None)
    doctor.start(wiring=NoWiring)
    for step in range(1, 20_001):
        doctor.listen(Event("step", step, {"loss": falls(step), "lr": 1e-3}))
        if step % 20 == 0:
            doctor.listen(Event("validation", step, {"metrics": {"loss": falls(step)}}))
    assert (time.process_time() - began) / 20_000 < 60e-6  # 9 µs on a quiet machine, 2026-12-02


def watched(losses: list[float], told: list[Finding], lines: list[str]) -> Doctor:
    """A doctor that has looked at a loop after each of its validations."""
    doctor = Doctor(tell=told.append, write=lines.append)
    doctor.start(wiring=NoWiring)
    seen = [toy_pass(own_loss=loss, number=n, first_step=8 * n, last_step=8 * n, own_num=96, step=8 * n)
            for n, loss in enumerate(losses, 1)]  # fmt: skip
    for num in range(1, len(losses) + 1):
        rows = toy_loop(8 * num, more=[toy_loss(), *seen[:num]])
        doctor.judge(rows[:-1])
    doctor.judge(rows)
    return doctor


def test_a_watched_loop_hears_of_it_once_while_it_goes_on():
    told: list[Finding] = []
    lines: list[str] = []
    small_rise = [1.0, 0.6, 0.5, *[0.53 + 0.0005 * n for n in range(12)]]  # below the tenth of RUN606
    doctor = watched(small_rise, told, lines)
    assert [finding.code for finding in told] == [finding.code for finding in doctor.findings] == ["RUN806"]
    assert told[0].evidence["last"] < doctor.findings[0].evidence["last"] == small_rise[-1]
    assert lines == []


def test_a_watched_loop_that_recovers_is_told_so():
    told: list[Finding] = []
    lines: list[str] = []
    doctor = watched([1.0, 0.6, 0.5, *[0.53 + 0.0005 * n for n in range(12)], 0.3, 0.2, 0.1], told, lines)
    assert [finding.code for finding in told] == ["RUN806"]
    assert doctor.findings == []
    assert lines == ["torchstone  RUN806 of step 24 is taken back: the whole run does not show it"]
