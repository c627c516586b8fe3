"""`new` writes a recipe that says what would happen and reads back as the same training."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchstone.core.errors import StoneError
from torchstone.core.plan import START, Choice, Plan
from torchstone.core.recipe_file import read_recipe, recipe_for
from torchstone.flows.new import is_recipe_value, near, new, text_of


def plan_of(*choices: Choice) -> Plan:
    return Plan({choice.field: choice for choice in choices})


def test_what_the_user_said_is_fixed_and_what_the_plan_chose_is_a_comment_with_its_reason(tmp_path: Path) -> None:
    recipe = recipe_for(str(tmp_path / "data.csv"), overrides=["train.epochs=7", "optimizer=sgd"])
    plan = plan_of(
        Choice("task", "tabular-regression", "derived", "numbers with 40 values"),
        Choice("train.epochs", 7, "user", "--set", source=""),
        Choice("train.batch_size", 64, "derived", "1,000 rows", START),
        Choice("optimizer.options.lr", 0.1, "default", "of sgd"),
        Choice("data.split", "stratified", "derived", "no split was given"),
    )
    text = text_of(recipe, plan, tmp_path)
    assert "# numbers with 40 values\ntask: tabular-regression\n" in text
    assert "  path: data.csv\n" in text
    assert "  epochs: 7\n" in text
    assert "  # 1,000 rows (starting point, tune on your data)\n  # batch_size: 64\n" in text
    assert "  # lr: 0.1\n" in text
    assert "stratified" not in text
    (tmp_path / "torchstone.yaml").write_text(text)
    again = read_recipe(tmp_path / "torchstone.yaml")
    assert again.model_dump() == {**recipe.model_dump(), "task": "tabular-regression"}


def test_only_what_a_recipe_may_say_is_written_into_it() -> None:
    assert is_recipe_value("train.batch_size", 64)
    assert is_recipe_value("optimizer.lr", 0.1)
    assert is_recipe_value("train.strategy", "zero")
    assert not is_recipe_value("data.split", "stratified")
    assert not is_recipe_value("model.weights", None)


def test_data_inside_the_project_is_named_from_there_and_other_data_by_its_whole_path(tmp_path: Path) -> None:
    assert near(str(tmp_path / "a" / "b.csv"), tmp_path) == "a/b.csv"
    assert near("/elsewhere/b.csv", tmp_path) == "/elsewhere/b.csv"


def test_a_table_becomes_a_recipe_that_can_be_read_and_is_not_written_over(tmp_path: Path) -> None:
    rows = [f"{number},{number % 7 * 1.5},{'yes' if number % 3 else 'no'}" for number in range(60)]
    (tmp_path / "data.csv").write_text("width,height,label\n" + "\n".join(rows) + "\n")
    made = new(str(tmp_path / "data.csv"), project=tmp_path, overrides=["data.label=label"])
    recipe = read_recipe(made.path)
    assert (recipe.task, recipe.data.label) == ("tabular-classification", "label")
    assert recipe.train.model_dump(exclude_unset=True) == {}
    with pytest.raises(StoneError, match="recipe already"):
        new(str(tmp_path / "data.csv"), project=tmp_path)
    assert (tmp_path / "data.csv").read_text().startswith("width,height,label\n")
