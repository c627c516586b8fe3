"""Targets that single precision cannot hold: named before training, and while a run goes on that was not stopped."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import torchstone as ts
from torchstone.core.event import Event
from torchstone.engines.pytorch.ruler import example_losses


@pytest.fixture
def recipe(tmp_path: Path):
    """A sound regression of which one held-out number is 1e30."""
    draw = np.random.default_rng(0)
    x = draw.normal(size=(300, 3))
    y = x[:, 0] * 2 + x[:, 1]
    y[250] = 1e30
    rows = [f"{a},{b},{c},{float(t)!r},{'validation' if n > 239 else 'train'}" for n, ((a, b, c), t)
            in enumerate(zip(x, y, strict=True))]  # fmt: skip
    (tmp_path / "t.csv").write_text("a,b,c,price,part\n" + "\n".join(rows) + "\n", encoding="utf-8")
    said = ("data.label=price", "data.split_column=part", "train.epochs=3")
    return lambda *more: ts.recipe(str(tmp_path / "t.csv"), *said, *more)


def test_the_plan_names_column_range_and_row_and_nothing_is_trained(recipe, tmp_path: Path) -> None:
    planned = ts.plan(recipe(), project=tmp_path)
    (finding,) = [finding for finding in planned.findings if finding.code == "DAT212"]
    assert finding.severity == "error"
    assert "'price' reaches from" in finding.what
    assert "t.csv:252" in finding.what
    assert ts.train(recipe(), project=tmp_path).status == "blocked"


def test_a_run_that_goes_on_all_the_same_is_told_live_and_at_its_end(recipe, tmp_path: Path) -> None:
    heard: list[Event] = []
    ignored = recipe('rules.ignore=["DAT212"]')
    result = ts.train(ignored, project=tmp_path, observers=[heard.append])
    told = [event.values for event in heard if event.kind == "finding"]
    assert [one["code"] for one in told] == ["RUN615"]
    assert "'price' reach from" in told[0]["what"]
    assert "to 1e+30" in told[0]["what"]
    assert [f.code for f in result.findings if f.code.startswith("RUN")] == ["RUN615"]


def test_squares_beyond_single_precision_are_its_largest_number_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        losses = example_losses(np.array([1.0, 0.0], dtype=np.float32), np.array([1e30, 2.0]), "number")
    assert losses.dtype == np.float32
    assert losses.tolist() == [np.finfo(np.float32).max, 4.0]
