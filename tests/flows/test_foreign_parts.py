"""Parts that are there, and are for another kind of data."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from torchstone.core import catalog
from torchstone.core.errors import StoneErrors
from torchstone.core.recipe_file import recipe_for
from torchstone.flows.plan import FOLDERS, make_plan


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["a", "b", "label"], *([i, i * i, f"k{i % 2}"] for i in range(60))])
    return path


FOREIGN = [name for name in catalog.names(FOLDERS["model"]) if not name.startswith("table_")]


@pytest.mark.parametrize("name", FOREIGN)
def test_a_model_that_does_not_read_tables_is_refused_with_those_that_do(name: str, table: Path) -> None:
    settings = [f"model={{name: {name}, folder: .}}" if name == "text_pretrained" else f"model={name}"]
    with pytest.raises(StoneErrors) as caught:
        make_plan(recipe_for(str(table), overrides=settings), project=table.parent)
    (error,) = caught.value.errors
    assert error.what == f"{name} does not read what tabular-classification has"
    assert error.where == f"--set {settings[0]}"
    assert "table_mlp, table_resnet" in str(error.fix)


def test_the_models_that_do_are_planned(table: Path) -> None:
    for name in ("table_mlp", "table_resnet"):
        planned = make_plan(recipe_for(str(table), overrides=[f"model={name}"]), project=table.parent)
        assert planned.plan["model.name"] == name


def test_a_loss_of_areas_is_found_before_a_task_of_one_class_is_trained_with_it(table: Path) -> None:
    planned = make_plan(recipe_for(str(table), overrides=["loss=dice"]), project=table.parent)
    assert [f.code for f in planned.findings if f.severity == "error"] == ["PLN101"]
