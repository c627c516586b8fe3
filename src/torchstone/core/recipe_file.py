"""A recipe from a file and from `--set`: parsed, checked field by field, and only then built."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torchstone.core import marks
from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.recipe import PIECES, Recipe
from torchstone.core.recipe_check import found, mistakes

# Fields that are files or folders: a relative one counts from the recipe's folder.
PATHS = (("data", "path"), ("model", "weights"), ("model", "folder"))


@dataclass
class _Draft:
    """Values that are not yet a recipe, and where each of their paths was written."""

    values: dict[str, Any]
    places: dict[marks.Path, str] = field(default_factory=dict)


def read_recipe(path: Path, *, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe in a YAML file, with `train.epochs=5` laid over it.

    Relative paths (`PATHS`) count from the recipe's folder (in an override, from the current one).
    Raises StoneErrors that tell every unknown or ill-typed field at once, each with file and line.
    """
    marked = marks.parse(_text(path), str(path))
    if marked.value is not None and not isinstance(marked.value, dict):
        raise StoneError(
            f"a recipe is a list of fields such as 'data:' and 'train:'; found {found(marked.value)}", where=str(path)
        )
    draft = _Draft(marked.value or {})
    draft.places = {p: f"{path}:{line} {marks.dotted(p)}" for p, line in marked.lines.items() if p}
    _anchor(draft.values, path.parent)
    return _build(draft, overrides, str(path))


def recipe_for(data_path: str, *, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe of a bare `torchstone train PATH`: the data, and what `--set` says."""
    return _build(_Draft({"data": {"path": str(Path(data_path).expanduser().absolute())}}), overrides, "the call")


def _text(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(marks.MAX_BYTES + 1)
    except IsADirectoryError:
        raise StoneError("this is a folder, not a recipe", where=str(path)) from None
    except FileNotFoundError:
        fix = "make one with: torchstone new DATA"
        raise StoneError("there is no such recipe", where=str(path), fix=fix) from None
    except OSError as error:
        raise StoneError(f"cannot read: {error.strerror}", where=str(path)) from None
    if len(data) > marks.MAX_BYTES:
        raise StoneError(f"larger than {marks.MAX_BYTES:,} bytes: not a recipe", where=str(path))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise StoneError("not UTF-8", where=f"{path}:{line}", fix="save the file as UTF-8") from None


def _anchor(values: dict[str, Any], folder: Path) -> None:
    for section, name in PATHS:
        fields = values.get(section)
        if isinstance(fields, dict) and isinstance(fields.get(name), str):
            fields[name] = _absolute(folder, fields[name])


def _absolute(folder: Path, written: str) -> str:
    place = (folder / Path(written).expanduser()).absolute()
    # `hub` and `folder` are words of model.weights, unless something is called so
    return written if written in ("hub", "folder") and not place.exists() else os.path.normpath(place)


def _build(draft: _Draft, overrides: Sequence[str], source: str) -> Recipe:
    errors = [error for text in overrides if (error := _override(draft, text)) is not None]
    errors += mistakes(draft.values, draft.places, source)
    if errors:
        raise StoneErrors(errors)
    recipe = Recipe.model_validate(draft.values)
    return recipe.with_places({marks.dotted(path): place for path, place in draft.places.items()})


def _override(draft: _Draft, text: str) -> StoneError | None:
    """Lays `a.b=c` over the draft; the value is read as in the file."""
    name, equals, value = text.partition("=")
    keys = name.strip().split(".")
    if not equals or not all(keys):
        return StoneError("expected field=value", where=f"--set {text}", fix="for example: --set train.epochs=5")
    try:
        parsed = marks.parse(value, f"--set {text}").value
    except StoneError as error:
        return StoneError(error.what, where=f"--set {text}", fix=error.fix)
    section = draft.values
    for depth, key in enumerate(keys[:-1]):
        below, name = section.get(key), ".".join(keys[: depth + 1])
        if isinstance(below, str) and name in PIECES:
            below = {"name": below}  # `optimizer: adamw` in the file, optimizer.lr in the call
        if below is not None and not isinstance(below, dict):
            return StoneError(f"{name} is {found(below)}, which has no fields", where=f"--set {text}")
        section[key] = section = below or {}
    if tuple(keys) in PATHS and isinstance(parsed, str):
        parsed = _absolute(Path.cwd(), parsed)
    section[keys[-1]] = parsed
    stale = [path for path in draft.places if path[: len(keys)] == tuple(keys)]
    for path in (*stale, tuple(keys)):
        draft.places[path] = f"--set {text}"
    for path in _within(tuple(keys), parsed):
        draft.places[path] = f"--set {text} {marks.dotted(path)}"
    return None


def _within(path: marks.Path, value: Any) -> Iterator[marks.Path]:
    """The paths of all that a section or a list holds."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield (*path, key)
        yield from _within((*path, key), below)
