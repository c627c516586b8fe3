"""Values that a part cannot work with, found before the data is trained on, each with file and line."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.plan import Plan
from torchstone.core.recipe import Recipe

# Counts of which 0 or less is no network, wherever a model has an option of that name.
COUNTS = ("width", "widths", "depth", "channels", "embedding", "heads")
# Shares that are dropped: of 1 nothing would be left.
DROPPED = ("dropout", "word_dropout", "hidden_dropout")


def check_values(
    recipe: Recipe, plan: Plan, folders: Mapping[str, str], *, model_refusal: StoneError | None = None
) -> None:
    """Raises StoneErrors for options of the recipe that are out of range, or that their part refuses.

    folders: dotted field → folder of its parts. model_refusal: what the model said when it was built.
    """
    ranges = {field: list(_out_of_range(recipe, field)) for field in folders}
    errors = [error for found in ranges.values() for error in found]
    wrong = {field for field, found in ranges.items() if found}
    trial = importlib.import_module("torchstone.engines.pytorch.trial_build")
    for field, folder in folders.items():
        name = plan.get(f"{field}.name")
        if field in ("model", *wrong) or not name or not _given(recipe, field):
            continue
        refused = trial.refusal(field, folder, name, plan.section(f"{field}.options"))
        if refused is not None:
            errors.append(_placed(recipe, field, refused))
    if model_refusal is not None and "model" not in wrong and _given(recipe, "model"):
        errors.append(_placed(recipe, "model", model_refusal))
    if errors:
        raise StoneErrors(errors)


def _given(recipe: Recipe, field: str) -> dict[str, Any]:
    """What the recipe says of a piece: its options, and `name`."""
    piece: Any = recipe
    for key in field.split("."):
        piece = getattr(piece, key)
    if piece is None:
        return {}
    return {**piece.options(), **({"name": piece.name} if piece.name else {})}


def _out_of_range(recipe: Recipe, field: str) -> Iterator[StoneError]:
    for option, value in _given(recipe, field).items():
        where = recipe.where(f"{field}.{option}")
        for number in value if isinstance(value, list) else [value]:
            if isinstance(number, float) and not math.isfinite(number):
                yield StoneError(f"found {number}; it must be a number that is finite", where=where)
        if field == "model" and isinstance(value, list) and option in COUNTS and min([1, *value]) < 1:
            yield StoneError(f"{option} are {value}; each must be 1 or above", where=where)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            continue
        if field == "optimizer" and option == "lr" and not value > 0:
            yield StoneError(f"lr is {value:g}; it must be above 0", where=where,
                             fix="start at 1e-3 for adamw, or measure it: --find-lr")
        elif field == "averaging" and option == "decay" and not 0 <= value < 1:
            yield StoneError(f"decay is {value:g}; it must be from 0 to below 1", where=where, fix="0.999 is usual")
        elif field == "optimizer" and option == "eps" and not value > 0:
            yield StoneError(f"eps is {value:g}; it must be above 0", where=where,
                             fix="leave it out: without it a weight whose gradients are all 0 becomes nan")
        elif field == "optimizer" and option in ("momentum", "alpha") and not 0 <= value < 1:
            yield StoneError(f"{option} is {value:g}; it must be from 0 to below 1", where=where, fix="leave it out")
        elif option == "weight_decay" and value < 0:
            yield StoneError(f"weight_decay is {value:g}; it must be 0 or above", where=where, fix="0.01 is usual")
        elif field == "model" and option in COUNTS and value < 1:
            yield StoneError(f"{option} is {value:g}; it must be 1 or above", where=where)
        elif field == "model" and option == "widening" and not value > 0:
            yield StoneError(f"widening is {value:g}; it must be above 0", where=where, fix="2 is usual")
        elif field == "model" and option in DROPPED and not 0 <= value < 1:
            yield StoneError(f"{option} is {value:g}; it must be from 0 to below 1", where=where)


def _placed(recipe: Recipe, field: str, error: StoneError) -> StoneError:
    """The error where the recipe has what it speaks of: the field that it names, else an option in its sentence.

    One that names a file (`model.folder: DIR`) stays at it.
    """
    if ": " in str(error.where):
        return error
    words = {word.rstrip("s") for word in error.what.replace(",", " ").split()}  # torch: "Invalid beta parameter"
    named = [option for option in _given(recipe, field) if option.rstrip("s") in words]
    places = [str(error.where or ""), *(f"{field}.{option}" for option in named), field, f"{field}.name"]
    known = [place for place in places if recipe.where(place) != place]
    return StoneError(error.what, where=recipe.where(known[0]) if known else field, fix=error.fix)
