"""What `plan --find-lr` measures is in the call that it proposes next."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from torchstone.cli import main as door
from torchstone.cli.measure import settings
from torchstone.core.plan import Choice, Plan


def plan(**values: object) -> Plan:
    names = {"rate": "optimizer.options.lr", "pieces": "train.accumulate"}
    return Plan({names[name]: Choice(names[name], value, "derived", "") for name, value in values.items()})


def test_settings_are_the_choices_that_measuring_changed() -> None:
    assert settings(plan(rate=1e-3, pieces=1), plan(rate=3.4e-3, pieces=1)) == ["optimizer.lr=0.0034"]
    assert settings(plan(rate=1e-3, pieces=1), plan(rate=1e-3, pieces=4)) == ["train.accumulate=4"]
    assert settings(plan(rate=1e-3), plan(rate=1e-3)) == []


def test_the_next_call_holds_the_rate_that_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["a", "b", "label"], *([i, i % 3, f"k{i % 2}"] for i in range(120))])
    monkeypatch.chdir(tmp_path)
    assert door.main(["plan", "t.csv", "--find-lr", "--set", "model.width=8"]) in (0, 1)
    said = capsys.readouterr().out
    rate = next(line for line in said.splitlines() if "optimizer.lr = " in line).split(" = ")[1].split(" ")[0]
    found = "range test" in said
    assert (f"--set optimizer.lr={rate}" in said.splitlines()[-1]) == found
