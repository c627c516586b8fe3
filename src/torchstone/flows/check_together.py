"""Settings that are right one by one and not together, or not on this data, model or machine: refused with the plan."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from torchstone.core.dataset import Dataset
from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.plan import Plan
from torchstone.core.recipe import Recipe
from torchstone.core.task import Task
from torchstone.flows.choose_values import ENGINE, shape_of


def check_together(recipe: Recipe, plan: Plan, dataset: Dataset, task: Task, facts: Mapping[str, Any]) -> None:
    """Raises StoneError, or StoneErrors for several, where a training of this plan would refuse before its first step.

    facts: those of the plan. The engine rehearses; what it refuses stands where the recipe has it.
    """
    rehearsal = importlib.import_module(f"{ENGINE}.rehearsal")
    shape = shape_of(lambda field: int(plan.get(field) or 0), facts)
    found = rehearsal.refusals(rehearsal.Rehearsed(plan, dataset, task, shape))
    errors = [placed(recipe, error) for error in found]
    if errors:
        raise errors[0] if len(errors) == 1 else StoneErrors(errors)


def placed(recipe: Recipe, error: StoneError) -> StoneError:
    """The error where the recipe has the field that it names, or the part above it; one that names a file stays."""
    field = str(error.where or "")
    if ": " in field:
        return error
    places = [field, f"{field}.name", field.rpartition(".")[0]]
    where = next((recipe.where(place) for place in places if place and recipe.where(place) != place), error.where)
    return StoneError(error.what, where=where, fix=error.fix)
