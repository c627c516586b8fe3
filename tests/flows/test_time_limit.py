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
from torchstone.flows.time_limit import TimeLimit, seconds_of


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


def test_the_limit_keeps_room_for_validation_and_checkpoint() -> None:
    now = time.monotonic()
    assert TimeLimit(now + 60, validation_s=1.0)(step()) is None
    assert TimeLimit(now + 3, validation_s=1.0)(step()) is not None
    limit = TimeLimit(now + 60, validation_s=1.0)
    limit(Event("validation", 1, {"seconds": 40.0}))
    stop = limit(step())
    assert stop is not None
    assert stop.is_final


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
    assert (tmp_path / ".torchstone/runs/r/checkpoints/last/model.safetensors").is_file()
