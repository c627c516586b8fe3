"""A plan says nothing that a recipe could not say, and a recipe written from it gives the same plan."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from torchstone.core.plan import Plan
from torchstone.core.recipe_file import read_recipe, recipe_for
from torchstone.flows.new import new
from torchstone.flows.plan import make_plan

RNG = np.random.default_rng(0)
WORDS = ["red", "green", "blue", "round", "square", "large", "small", "old", "new", "far", "near", "wet", "dry"]
# What the data say and no recipe does: shown, because it explains the rest.
FOUND = ("data.kinds", "data.layout", "data.split", "train.strategy")


def table(path: Path, columns: list[str], rows: list[list[Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def made(kind: str, folder: Path) -> tuple[Path, list[str]]:
    """Sixty examples of a kind, and what must be said of them."""
    numbers = RNG.normal(size=(60, 3)).round(4).tolist()
    if kind == "table":
        return table(folder / "t.csv", ["a", "b", "c", "label"], [[*r, f"k{i % 3}"] for i, r in enumerate(numbers)]), []
    if kind == "regression":
        return table(folder / "t.csv", ["a", "b", "c", "y"], [[*r, sum(r)] for r in numbers]), []
    if kind == "multilabel":
        rows = [[*r, i % 2, i % 3 // 2] for i, r in enumerate(numbers)]
        return table(folder / "t.csv", ["a", "b", "c", "x", "y"], rows), ["data.label=[x, y]"]
    if kind == "text":
        rows = [[" ".join(RNG.choice(WORDS, 8)), f"k{i % 2}"] for i in range(60)]
        return table(folder / "t.csv", ["text", "label"], rows), []
    for i in range(60):
        place = folder / "pictures" / f"k{i % 3}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(RNG.integers(0, 256, (12, 12), np.uint8)).save(place / f"{i}.png")
    return folder / "pictures", []


def values(plan: Plan) -> dict[str, Any]:
    return {choice.field: choice.value for choice in plan if choice.field != "data.path"}


KINDS = ("table", "regression", "multilabel", "text", "image")


@pytest.mark.parametrize("kind", KINDS)
def test_every_planned_field_can_be_set_to_the_value_that_the_plan_gave_it(kind: str, tmp_path: Path) -> None:
    data, settings = made(kind, tmp_path)
    plan = make_plan(recipe_for(str(data), overrides=settings), project=tmp_path).plan
    said = [
        f"{choice.field.replace('.options.', '.')}={json.dumps(choice.value)}"
        for choice in plan
        if not choice.field.startswith(FOUND)
    ]
    again = make_plan(recipe_for(str(data), overrides=said), project=tmp_path).plan
    assert values(again) == values(plan)
    others = (*FOUND, "averaging.name", "mix.name", "clipping.name")  # none is none, whoever says so
    assert {again.choices[field].origin for field in values(plan) if not field.startswith(others)} == {"user"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_recipe_that_new_writes_gives_the_same_plan_also_with_every_comment_taken_away(
    kind: str, tmp_path: Path
) -> None:
    data, settings = made(kind, tmp_path)
    written = new(str(data), project=tmp_path, overrides=settings)
    assert values(make_plan(read_recipe(written.path), project=tmp_path).plan) == values(written.planned.plan)
    lines = written.path.read_text(encoding="utf-8").splitlines()
    fixed = [line.replace("# ", "", 1) if is_field(line) else line for line in lines]
    written.path.write_text("\n".join(fixed), encoding="utf-8")
    assert values(make_plan(read_recipe(written.path), project=tmp_path).plan) == values(written.planned.plan)


def is_field(line: str) -> bool:
    """Whether a comment holds a field, `# lr: 0.1`, rather than a sentence."""
    text = line.strip()
    return text.startswith("# ") and text[2:].partition(":")[0].isidentifier() and not text[2:].endswith("plan.")


@pytest.mark.parametrize("kind", KINDS)
def test_every_choice_has_a_reason_and_no_word_is_said_twice(kind: str, tmp_path: Path) -> None:
    data, settings = made(kind, tmp_path)
    for choice in make_plan(recipe_for(str(data), overrides=settings), project=tmp_path).plan:
        assert choice.reason, choice
        assert choice.source.count("starting point") <= 1, choice
        assert choice.source.count("measured on") <= 1, choice
