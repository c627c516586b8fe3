"""The page of a run is written into its folder, whatever the run has left behind."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from torchstone.cli.evaluate import lines
from torchstone.core.run import Run
from torchstone.report.page import data_of, write_page


def killed_run(folder: Path) -> Run:
    """A run that was killed before its first checkpoint."""
    run = Run(folder / "killed")
    run.folder.mkdir()
    rows = [{"field": "task", "value": "tabular-regression", "origin": "derived", "reason": "numbers"}]
    run.plan.write_text(yaml.safe_dump({"version": 1, "choices": rows}))
    run.trace.write_text(json.dumps({"event": "start", "step": 0, "time": 1.0, "total_steps": 9}) + "\n")
    return run


def test_a_run_that_was_killed_has_a_page_too(tmp_path: Path) -> None:
    run = killed_run(tmp_path)
    page = write_page(run, None)
    assert page == run.report
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "killed" in text
    assert "unfinished" in text


def test_data_that_cannot_be_read_again_is_a_gap_with_its_reason(tmp_path: Path) -> None:
    run = killed_run(tmp_path)
    dataset, why = data_of(run)
    assert dataset is None
    assert "the run's recipe cannot be read" in why
    (run.folder / "recipe.json").write_text(json.dumps({"data": {"path": str(tmp_path / "gone")}}))
    dataset, why = data_of(run)
    assert dataset is None
    assert "gone" in why


def test_an_evaluation_says_how_often_the_test_split_was_looked_at() -> None:
    unknown = {"value": None, "low": None, "high": None}
    metrics = {"accuracy": {"value": 0.98765, "low": 0.95, "high": 1.0}, "r2": unknown}
    rows = lines({"run": "a", "split": "test", "n": 1234, "looks": 3, "metrics": metrics})
    assert rows[1] == "split       test, 1,234 examples, each scored once"
    assert rows[2].startswith("looks       3")
    assert rows[3] == "accuracy            0.9877  [0.95, 1]"
    assert rows[4] == "r2                  undefined"
    assert not any("looks" in row for row in lines({"run": "a", "split": "train", "n": 1, "looks": 3, "metrics": {}}))
