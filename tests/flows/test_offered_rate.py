"""A batch of another size: the rate that it would ask for is offered, with its rule, and nothing is changed."""

from __future__ import annotations

import csv
from pathlib import Path

from torchstone.core.plan import Choice, Plan
from torchstone.core.recipe_file import recipe_for
from torchstone.flows.find import offered_rate
from torchstone.flows.plan import make_plan
from torchstone.report.finders import batch_lines


def plan(optimizer: str, rate: float) -> Plan:
    values = {"train.batch_size": 64, "optimizer.name": optimizer, "optimizer.options.lr": rate}
    return Plan({field: Choice(field, value, "default", "usual") for field, value in values.items()})


def test_the_fastest_batch_comes_with_its_rate() -> None:
    assert "train.batch_size=256 optimizer.lr=0.002" in offered_rate(plan("adamw", 1e-3), 256)
    assert "Malladi et al. 2022" in offered_rate(plan("adamw", 1e-3), 256)
    assert "optimizer.lr=0.4" in offered_rate(plan("sgd", 0.1), 256)
    assert offered_rate(plan("sgd", 0.1), 64) == offered_rate(plan("sgd", 0.1), 0) == ""


def test_find_batch_prints_the_offer_last() -> None:
    trial = {"size": 8, "peak": None, "examples_per_s": 10.0, "fits": True}
    found = {"trials": [trial], "largest": 8, "fastest": 8, "wanted": 8, "accumulate": 1, "budget": 2**30}
    assert batch_lines({**found, "offer": "so many"})[-1] == "so many"
    assert len(batch_lines({**found, "offer": ""})) == len(batch_lines(found)) == 2


def test_a_batch_of_the_users_is_told_its_rate_in_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["a", "label"], *([i * i % 37, f"k{i % 2}"] for i in range(80))])
    own = make_plan(recipe_for(str(path)), project=tmp_path).plan
    other = make_plan(recipe_for(str(path), overrides=["train.batch_size=32"]), project=tmp_path).plan
    assert other["optimizer.options.lr"] == own["optimizer.options.lr"] == 2e-3
    assert "for 32 try 0.0028" in other.choices["optimizer.options.lr"].changes_if
    assert "try" not in own.choices["optimizer.options.lr"].changes_if
