"""A run is over, validated and saved when its time is."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from torchstone.core.errors import StoneError
from torchstone.core.event import Event
from torchstone.core.recipe_file import recipe_for
from torchstone.flows.find import epochs_that_fit, fit_into
from torchstone.flows.plan import make_plan
from torchstone.flows.time_limit import ENDING_S, TimeLimit, TimeSpent, seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("10m", 600), ("1.5h", 5400), ("1h30m", 5400), (" 2M ", 120), ("1m30s", 90)]
)
def test_lengths_of_time(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "m", "10 minutes", "-5m", "1m x", "0s", "m5"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(StoneError):
        seconds_of(text)


def step(seconds: float = 0.01) -> Event:
    return Event("step", 1, {"step_ms": seconds * 1e3, "wait_ms": 0.0})


class Hand:
    """A clock that goes by hand."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def test_the_limit_keeps_room_for_validation_checkpoint_and_ending() -> None:
    clock = Hand()
    limit = TimeLimit(60.0, validation_s=1.0, begun=0.0, clock=clock)
    clock.now = 60 - 2 * (1.0 + 0.01) - ENDING_S - 0.1
    assert limit(step()) is None
    clock.now += 0.2
    stop = limit(step())
    assert stop is not None
    assert stop.is_final


def test_a_longer_validation_and_checkpoint_than_measured_widen_the_room() -> None:
    clock = Hand(10.0)
    limit = TimeLimit(60.0, validation_s=1.0, begun=0.0, clock=clock)
    assert limit(step()) is None
    limit(Event("validation", 1, {"seconds": 20.0}))
    assert limit(step()) is None  # 2 x 20 of 50
    limit(Event("checkpoint", 1, {"ms": 5_000.0}))
    assert limit(step()) is not None


@pytest.mark.parametrize(("cpu_s", "slowness"), [(3.0, 4.0), (40.0, 1.0), (0.0, 10.0)])
def test_a_crowded_machine_needs_more_room_for_the_ending(cpu_s: float, slowness: float) -> None:
    """12 seconds for what took so many of the processor; several threads take more than the clock shows."""
    clock = Hand(12.0)
    limit = TimeLimit(60.0, validation_s=0.0, begun=0.0, clock=clock, cpu=lambda: cpu_s)
    limit(Event("start", 0, {}))
    clock.now = 60 - 0.02 - slowness * ENDING_S - 0.1
    assert limit(step()) is None
    clock.now += 0.2
    assert limit(step()) is not None


def test_where_the_time_went_is_told_and_adds_up() -> None:
    clock = Hand(100.0)
    spent = TimeSpent(20.0, 100.0, clock=clock)
    for now, kind in ((106.5, "start"), (117.0, "finish")):
        clock.now = now
        spent(Event(kind, 0, {}))
    clock.now = 119.25
    assert spent.to_json() == {"limit": 20.0, "before": 6.5, "training": 10.5, "after": 2.25, "all": 19.25}
    assert str(spent).startswith("19.2 s of 20 s: 6.5 s of reading")
    assert "over" not in str(spent)


@pytest.mark.parametrize(("ready", "words"), [(15.0, "over by 17.0 s"), (25.0, "nothing was left for training")])
def test_a_limit_that_was_passed_says_by_how_much_and_why(ready: float, words: str) -> None:
    clock = Hand()
    spent = TimeSpent(20.0, 0.0, clock=clock)
    clock.now = ready
    spent(Event("start", 0, {}))
    clock.now = 35.0
    spent(Event("finish", 0, {}))
    clock.now = 37.0
    assert words in str(spent)
    assert ("give it more" in str(spent)) == (ready > 20)


@pytest.mark.parametrize(("epoch_s", "left", "epochs"), [(1.0, 20.0, 17), (1.0, 1.0, 1), (30.0, 20.0, 1), (1.0, -5, 1)])
def test_epochs_fill_most_of_what_is_left_for_training(epoch_s: float, left: float, epochs: int) -> None:
    planned, reason = epochs_that_fit(epoch_s, left)
    assert planned == epochs
    assert ("give it more" in reason) == (epoch_s > left * 0.85)


def test_where_the_time_is_over_before_training_nothing_more_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"{n},{n % 7},{'even' if n % 2 else 'odd'}" for n in range(90)]
    (tmp_path / "table.csv").write_text("\n".join(["a,b,label", *rows]) + "\n")
    planned = make_plan(recipe_for(str(tmp_path / "table.csv")), project=tmp_path)
    monkeypatch.setattr("torchstone.flows.find.setting_of", None)  # building a job would call it
    fitted, validation_s = fit_into(planned, project=tmp_path, seconds=-3.0)
    assert (fitted.plan["train.epochs"], validation_s) == (1, 0.0)
    assert "0 s were left after reading and planning" in fitted.plan.choices["train.epochs"].reason


@pytest.mark.slow
def test_a_run_with_a_limit_ends_in_time_validated_and_saved(tmp_path: Path) -> None:
    with open(tmp_path / "points.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "kind"])
        writer.writerows([i % 97, (i * 31) % 89, "yes" if (i % 97) > (i * 31) % 89 else "no"] for i in range(20_000))
    command = [sys.executable, "-m", "torchstone", "train", str(tmp_path / "points.csv"), "--run", "r", "--time", "40s"]
    command += ["--set", "train.epochs=100000", "--project", str(tmp_path)]
    begun = time.monotonic()
    done = subprocess.run([*command, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begun < 50  # the limit, and starting and ending a Python process on a busy machine
    result = json.loads(done.stdout)
    assert (result["status"], result["reason"]) == ("finished", "its time is over")
    assert result["last"]["step"] == result["steps"]
    assert result["time"]["limit"] == 40
    assert (tmp_path / ".torchstone/runs/r/checkpoints/last/model.safetensors").is_file()
