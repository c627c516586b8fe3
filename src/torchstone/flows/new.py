"""`new`: from data to a recipe that says what would happen."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchstone.core import store
from torchstone.core.errors import StoneError
from torchstone.core.plan import Plan
from torchstone.core.recipe import PIECES, Recipe
from torchstone.core.recipe_check import mistakes
from torchstone.core.recipe_file import recipe_for
from torchstone.core.recipe_text import recipe_text
from torchstone.flows.plan import Planned, make_plan
from torchstone.flows.read_pictures import Progress


@dataclass(frozen=True)
class New:
    """A recipe that was written, and the plan behind it."""

    path: Path
    planned: Planned


def new(
    data: str, *, project: Path, overrides: Sequence[str] = (), is_forced: bool = False,
    progress: Progress | None = None,
) -> New:  # fmt: skip
    """Writes `torchstone.yaml` for a folder or file of data into the project's folder.

    Raises StoneError where a recipe is already there and `is_forced` is not set, or where the data is unusable.
    """
    path = project / "torchstone.yaml"
    if path.exists() and not is_forced:
        raise StoneError("there is a recipe already", where=str(path), fix="edit it, or replace it with --force")
    recipe = recipe_for(data, overrides=overrides)
    planned = make_plan(recipe, project=project, progress=progress)
    store.write_text(path, text_of(recipe, planned.plan, project))
    return New(path, planned)


def text_of(recipe: Recipe, plan: Plan, folder: Path) -> str:
    """The recipe's text: what the user gave is fixed, what the plan chose is a comment."""
    fixed = recipe.model_dump(exclude_unset=True)
    fixed["data"]["path"] = near(recipe.data.path, folder)
    fixed = {"version": 1, "task": plan.get("task"), **fixed}
    comments = {
        "version": "A recipe: fields that are commented out are planned. torchstone plan shows the plan.",
        "task": plan.choices["task"].reason if "task" in plan.choices else "what is learnt",
        "data.path": "counts from the folder of this file",
    }
    planned: dict[str, Any] = {}
    for choice in plan:
        field = choice.field.replace(".options.", ".")
        is_column = field.startswith("data.") and os.path.isdir(recipe.data.path)  # folders have no columns to name
        if choice.origin != "user" and not is_column and is_recipe_value(field, choice.value):
            source = f" ({choice.source})" if choice.source else ""
            comments.setdefault(field, choice.reason + source)
            planned[field] = choice.value
    return recipe_text(fixed, comments, planned=planned)


def is_recipe_value(field: str, value: Any) -> bool:
    """Whether a recipe may say this: a plan also holds what is no one's choice, such as what the data is."""
    if field.rpartition(".")[0] in PIECES:
        return value is not None
    tree: dict[str, Any] = {"data": {"path": "."}}
    here = tree
    *sections, last = field.split(".")
    for section in sections:
        here = here.setdefault(section, {})
    here[last] = value
    return not mistakes(tree, {}, "")


def near(path: str, folder: Path) -> str:
    """`path` as seen from `folder` where it lies inside, else absolute."""
    relative = os.path.relpath(path, folder.absolute())
    return path if relative.startswith("..") else relative
