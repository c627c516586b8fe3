"""A run without a validation part: no epoch is the best, and the last weights are judged and said to be."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

from torchstone.core.recipe_file import recipe_for
from torchstone.core.trace import read_trace
from torchstone.flows.evaluate import evaluate
from torchstone.flows.train import train


def test_the_last_weights_are_judged_where_no_epoch_was_validated(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).normal(size=(80, 2)).round(4)
    path = tmp_path / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = [[*row, "high" if sum(row) > 0 else "low"] for row in numbers.tolist()]
        csv.writer(file).writerows([["a", "b", "label"], *rows])
    shares = ["data.split.train=0.8", "data.split.validation=0.0", "data.split.test=0.2"]
    settings = [*shares, "train.epochs=3"]
    result = train(recipe_for(str(path), overrides=settings), project=tmp_path)
    assert result.run is not None
    assert result.status == "finished"
    assert "DAT209" in {finding.code for finding in result.findings}
    answer = evaluate(result.run, project=tmp_path)
    assert answer["checkpoint"] == "last"
    assert answer["n"] == 16
    assert json.loads(result.run.result.read_text())["best"] is None
    rows = read_trace(result.run.trace)
    assert [row["metric"] for row in rows if row["event"] == "start"] == ["accuracy"]
    assert any("weight decay acts on" in row.get("text", "") for row in rows if row["event"] == "note")
