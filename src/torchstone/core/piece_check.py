"""The options of a part, checked against the part's own signature."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from typing import Any

from torchstone.core import catalog
from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.recipe import Piece, Recipe
from torchstone.core.recipe_check import found

# Options that every part of a folder has beside those of its signature: the engine does their work.
SHARED = {"torchstone.engines.pytorch.models": (catalog.Option("weights", str | None, None),)}


def check_recipe_pieces(
    recipe: Recipe, folders: Mapping[str, str], *, planned: Mapping[str, str | None] | None = None
) -> None:
    """Checks every part that the recipe names, and with `planned` also options that are given without a name.

    folders: dotted field → folder of its parts: {"optimizer": "torchstone.engines.pytorch.optimizers", …}.
    planned: dotted field → the part that the plan chose, None for none.
    Raises StoneErrors with all mistakes, each with file and line. Imports the named parts (torch, for some).
    """
    errors: list[StoneError] = []
    for field, folder in folders.items():
        piece: Any = recipe
        for name in field.split("."):
            piece = getattr(piece, name)
        if piece is None or (piece.name is None and planned is None):
            continue
        if piece.name is None and planned is not None:
            if "name" in piece.model_fields_set and not piece.options() and planned.get(field) is None:
                continue  # `averaging: {name: null}` says what is so anyway
            piece = Piece.model_validate({**piece.options(), "name": planned.get(field)})
        errors += _check(folder, piece, _place(recipe, field))
    if errors:
        raise StoneErrors(errors)


def check_piece(folder: str, piece: Piece, where: str) -> list[StoneError]:
    """What is wrong with a part's name and options; `where` is the part's own place, such as `optimizer`."""
    return _check(folder, piece, lambda option: f"{where}{option}")


def _place(recipe: Recipe, field: str) -> Callable[[str], str]:
    return lambda option: recipe.where(f"{field}{option}")


def _check(folder: str, piece: Piece, place: Callable[[str], str]) -> list[StoneError]:
    if piece.name is None:
        field, options = place("").rpartition(" ")[2], ", ".join(piece.options())
        what = f"no part is named or planned here, so that {options or 'the section'} would have no effect"
        return [StoneError(what, where=place(""), fix=f"name one: --set {field}.name=NAME")]
    try:
        part = catalog.find(folder, piece.name)
    except StoneError as error:
        return [StoneError(error.what, where=place(""), fix=error.fix)]
    known = {option.name: option for option in (*SHARED.get(folder, ()), *catalog.options(part))}
    given = piece.options()
    errors = [_unknown(piece.name, name, list(known), place(f".{name}")) for name in given if name not in known]
    for name, option in known.items():
        if name in given and (wrong := type_mistake(option.annotation, given[name])):
            text = f"found {found(given[name])}; {wrong}"
            errors.append(StoneError(text, where=place(f".{name}"), fix=f"its default is {option.default!r}"))
        elif name not in given and option.default is ...:
            errors.append(StoneError(f"{piece.name} needs the option '{name}'", where=place("")))
    return errors


def _unknown(part: str, name: str, known: list[str], where: str) -> StoneError:
    near = difflib.get_close_matches(name, known, n=1)
    listed = f"its options: {', '.join(known)}" if known else "it has no options"
    return StoneError(
        f"{part} has no option '{name}'; {listed}", where=where, fix=f"did you mean '{near[0]}'?" if near else None
    )


def type_mistake(annotation: Any, value: Any) -> str | None:
    """Why a value from a recipe does not fit an annotation, in pydantic's words; None where it fits.

    Types are strict as in JSON: no text for a number, a list for a tuple.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        TypeAdapter(annotation).validate_json(json.dumps(value), strict=True)
    except ValidationError as invalid:
        messages = dict.fromkeys(error["msg"] for error in invalid.errors(include_url=False))
        return " or ".join(message[0].lower() + message[1:] for message in messages)
    return None
