"""What a person sees of a run."""

from __future__ import annotations

import io
import timeit

import pytest

from torchstone.core.event import Event
from torchstone.report.progress import bar, duration, progress_observer, reading_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def step(number: int, **values: object) -> Event:
    given = {"epoch": 0, "examples": 32, "loss": 0.5, "wait_ms": 10.0, "step_ms": 90.0, **values}
    return Event("step", number, given)


VALIDATION = {
    "epoch": 0, "train_loss": 0.4, "metrics": {"accuracy": 0.9}, "n": 9, "of": 9, "seconds": 1.0, "is_best": True
}  # fmt: skip


def test_a_terminal_gets_one_line_with_rates_and_time_left_ten_times_a_second_at_most() -> None:
    out, clock = Terminal(), Clock()
    see = progress_observer(out=out, clock=clock)
    see(Event("start", 0, {"total_steps": 1000, "epochs": 10}))
    for number in range(1, 101):
        clock.now += 0.01
        see(step(number, wait_ms=1.0))
    drawn = out.getvalue().split("\r\x1b[2K")[1:]
    assert 9 <= len(drawn) <= 11
    assert drawn[-1].startswith("epoch 1/10  ━━")
    assert "step 1" in drawn[-1] or "/1,000" in drawn[-1]
    assert "3,200 examples/s · data wait 10 %" in drawn[-1]
    assert "0:09 left" in drawn[-1]


def test_a_file_gets_a_line_per_epoch_and_none_per_step() -> None:
    out, clock = io.StringIO(), Clock()
    see = progress_observer(20, out=out, clock=clock)
    see(Event("start", 0, {"epochs": 2}))
    for number in range(1, 11):
        clock.now += 0.1
        see(step(number))
    clock.now += 1.0  # the time of validation is not the time of training
    see(Event("validation", 10, VALIDATION))
    see(Event("finish", 10, {"status": "finished"}))
    first, last = out.getvalue().splitlines()
    assert first == (
        "epoch 1/2   loss 0.4 · val accuracy 0.9 (9 of 9) · 320 examples/s · data wait 10 % · 0:02 left  best so far"
    )
    assert last == "finished    after 10 steps in 0:02"
    assert "\x1b" not in out.getvalue()


def test_missing_numbers_are_said_to_be_missing() -> None:
    out = io.StringIO()
    progress_observer(out=out)(Event("validation", 3, {**VALIDATION, "train_loss": None, "metrics": {"r2": None}}))
    assert "loss none · val r2 none" in out.getvalue()


def test_findings_notes_and_stops_are_lines_of_their_own() -> None:
    out = Terminal()
    see = progress_observer(out=out)
    see(Event("finding", 812, {"code": "RUN101", "severity": "error", "what": "the loss is NaN"}))
    see(Event("note", 1, {"text": "fp16 -> bf16"}))
    see(Event("stop", 2, {"reason": "early"}))
    text = out.getvalue().replace("\r\x1b[2K", "")
    assert text.splitlines() == [
        "doctor      RUN101 error  the loss is NaN (step 812)", "note        fp16 -> bf16",
        "stop        early (step 2)"
    ]  # fmt: skip


def test_the_bar_never_asks_for_anything() -> None:
    see = progress_observer(out=io.StringIO())
    assert see(step(1)) is None
    assert see(Event("checkpoint", 1, {"path": "x", "ms": 1.0})) is None


@pytest.mark.parametrize("out", [Terminal(), io.StringIO()])
def test_a_step_between_two_refreshes_costs_less_than_3_microseconds(out: io.StringIO) -> None:
    see, event = progress_observer(10**9, out=out), step(5)
    see(event)
    per_step = min(timeit.repeat(lambda: see(event), number=2000, repeat=15)) / 2000
    assert per_step < 3e-6


def test_reading_is_shown_and_wiped_away() -> None:
    out, clock = Terminal(), Clock()
    tell = reading_progress(out, clock=clock)
    for done in range(1, 101):
        clock.now += 0.001
        tell(done, 100, "pictures")
    drawn = out.getvalue().split("\r\x1b[2K")[1:]
    assert len(drawn) == 2
    assert drawn[0].endswith("1/100 pictures")
    assert drawn[1] == ""


def test_bars_and_durations() -> None:
    assert bar(50, 100) == "━" * 12 + "╌" * 12
    assert bar(200, 100) == "━" * 24
    assert bar(5, None) == ""
    assert [duration(s) for s in (0.4, 7, 750, 11100)] == ["0:00", "0:07", "12:30", "3:05:00"]


def test_only_the_metric_that_chooses_and_the_loss_are_shown_per_epoch() -> None:
    out = io.StringIO()
    see = progress_observer(out=out)
    see(Event("start", 0, {"metric": "macro_f1"}))
    see(Event("validation", 3, {**VALIDATION, "metrics": {"accuracy": 0.9, "macro_f1": 0.8, "loss": 0.1}}))
    assert "val macro_f1 0.8 · val loss 0.1 (9" in out.getvalue()


def test_many_epochs_do_not_run_into_the_loss() -> None:
    out = io.StringIO()
    see = progress_observer(out=out, clock=Clock())
    see(Event("start", 0, {"total_steps": 1000, "epochs": 3000}))
    see(Event("validation", 10, {**VALIDATION, "epoch": 627}))
    assert out.getvalue().startswith("epoch 628/3000 loss 0.4 ")
