"""The strategy that a recipe names wins over the plan's, or is refused in words; a resumed run may change its ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchstone.core.errors import StoneError
from torchstone.core.recipe_file import recipe_for
from torchstone.flows.plan import make_plan
from torchstone.flows.run_files import recipe_here


@pytest.fixture
def table(tmp_path: Path) -> str:
    rows = [f"{n},{n % 7},{'even' if n % 2 else 'odd'}" for n in range(90)]
    (tmp_path / "table.csv").write_text("\n".join(["a,b,label", *rows]) + "\n")
    return str(tmp_path / "table.csv")


def test_zero_by_hand_wins_over_ddp(table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert make_plan(recipe_for(table), project=tmp_path).plan["train.strategy"] == "ddp"
    recipe = recipe_for(table, overrides=["train.strategy=zero"])
    choice = make_plan(recipe, project=tmp_path).plan.choices["train.strategy"]
    assert (choice.value, choice.origin) == ("zero", "user")
    assert "the plan's own choice: ddp" in choice.reason


def test_what_these_ranks_cannot_do_is_refused_by_the_plan(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(StoneError, match="zero is for several ranks; here is one process"):
        make_plan(recipe_for(table, overrides=["train.strategy=zero"]), project=tmp_path)


def test_a_resumed_run_takes_the_strategy_of_the_ranks_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = recipe_for("table.csv", overrides=["train.strategy=zero", "train.epochs=3"])
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert recipe_here(recipe) is recipe
    monkeypatch.setenv("WORLD_SIZE", "1")
    alone = recipe_here(recipe)
    assert (alone.train.strategy, alone.train.epochs) == (None, 3)
