"""Gross errors in a table's target: what the plan chooses, and that it helps on the rows that are right."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from torchstone.core.recipe_file import recipe_for
from torchstone.flows.evaluate import evaluate
from torchstone.flows.plan import make_plan
from torchstone.flows.train import train


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A smooth function in 700 rows; 5 % of those to learn from are wrong by far, those of test are right."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(700, 4))
    y = x[:, 0] + np.sin(2 * x[:, 1]) + x[:, 2] * x[:, 3] / 2 + rng.normal(scale=0.1, size=700)
    split = np.array(["train"] * 400 + ["validation"] * 100 + ["test"] * 200)
    wrong = rng.permutation(500)[:25]
    y[wrong] += rng.choice([-1, 1], size=25) * rng.uniform(50, 150, size=25)
    path = tmp_path_factory.mktemp("outliers") / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = ([*row, target, part] for row, target, part in zip(x.tolist(), y.tolist(), split, strict=True))
        csv.writer(file).writerows([["a", "b", "c", "d", "y", "part"], *rows])
    return path


SAID = ("data.label=y", "data.split_column=part", "train.epochs=20", "train.threads=1")


def error_on_clean_rows(table: Path, project: Path, *settings: str) -> float:
    result = train(recipe_for(str(table), overrides=[*SAID, *settings]), project=project)
    assert result.run is not None
    return float(evaluate(result.run, project=project)["metrics"]["mae"]["value"])


def test_the_plan_sees_the_outliers_and_says_so(table: Path, tmp_path: Path) -> None:
    plan = make_plan(recipe_for(str(table), overrides=SAID), project=tmp_path).plan
    assert (plan["loss.name"], plan["metric"]) == ("huber", "mae")
    assert 0.0 < plan["loss.options.delta"] < 0.5
    assert "beyond 3 IQR" in plan.choices["loss.name"].reason


def test_a_loss_that_the_user_names_is_kept_with_the_tasks_metric(table: Path, tmp_path: Path) -> None:
    plan = make_plan(recipe_for(str(table), overrides=[*SAID, "loss=mse"]), project=tmp_path).plan
    assert (plan["loss.name"], plan["metric"]) == ("mse", "rmse")
    assert "loss.options.delta" not in plan.choices
    assert "the plan's own choice: huber" in plan.choices["loss.name"].reason


def test_the_planned_loss_is_nearer_to_the_truth_than_squares(table: Path, tmp_path: Path) -> None:
    planned = error_on_clean_rows(table, tmp_path / "planned")
    squares = error_on_clean_rows(table, tmp_path / "squares", "loss=mse")
    print(f"mean absolute error on clean rows: {planned:.3f} as planned, {squares:.3f} with squares")
    assert planned < 0.6 * squares, (planned, squares)
    assert planned < 0.8  # the standard deviation of the clean target is 1.3
