"""What `import torchstone as ts` offers."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

import torchstone as ts


def test_every_public_name_is_there() -> None:
    assert all(getattr(ts, name) is not None for name in ts.__all__)
    assert len(ts.__all__) <= 25
    assert dir(ts) == sorted(ts.__all__)


def test_importing_costs_nothing() -> None:
    code = "import sys, torchstone; print([m for m in ('torch', 'numpy', 'pydantic', 'click') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_parts_are_attributes_with_the_nearest_name_for_a_wrong_one() -> None:
    assert "cosine" in dir(ts.schedules)
    assert ts.schedules.cosine(warmup=0.0)(0, 10) == 1.0
    with pytest.raises(AttributeError, match="cosine"):
        ts.schedules.cosin  # noqa: B018
    with pytest.raises(AttributeError, match="has no public name 'trian'"):
        ts.trian  # noqa: B018


def test_a_training_from_python(tmp_path: Path) -> None:
    with open(tmp_path / "points.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "kind"])
        writer.writerows([i % 7, (i * 3) % 11, "high" if (i % 7) + (i * 3) % 11 > 8 else "low"] for i in range(120))
    seen: list[ts.Event] = []
    recipe = ts.recipe(str(tmp_path / "points.csv"), "train.epochs=2")
    result = ts.train(recipe, project=tmp_path, run_name="r", observers=[seen.append])
    assert result.status == "finished"
    assert (seen[0].kind, seen[-1].kind) == ("start", "finish")
    assert ts.evaluate(ts.find_run(tmp_path, "r"), project=tmp_path)["n"] > 0
