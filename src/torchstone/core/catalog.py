"""The register of parts and rules: the folder itself, and the entry points of others."""

from __future__ import annotations

import difflib
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from torchstone.core.errors import StoneError

# What one part of a folder is called, where it is not the folder's name without its s.
_ONE_OF = {"losses": "loss", "mixes": "mix", "strategies": "strategy", "transforms": "augmentation"}


@dataclass(frozen=True)
class Option:
    """One keyword-only option of a part: its annotation and default (`...` where it must be given)."""

    name: str
    annotation: Any
    default: Any


def names(folder: str) -> list[str]:
    """The parts of a folder such as `torchstone.parts.schedules`, without importing any of them."""
    package = importlib.import_module(folder)
    own = [entry.name for entry in pkgutil.iter_modules(package.__path__) if not entry.name.startswith("_")]
    return sorted({*own, *(point.name for point in metadata.entry_points(group=folder))})


def find(folder: str, name: str) -> Any:
    """The object `name` of the file `name` in `folder`; others' parts come from entry points of group `folder`.

    Raises StoneError with the nearest name where there is none.
    """
    for point in metadata.entry_points(group=folder, name=name):
        return point.load()
    known = names(folder)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        kind = folder.rsplit(".", 1)[-1]
        kind = _ONE_OF.get(kind, kind.removesuffix("s"))
        raise StoneError(
            f"no {kind} is called '{name}'",
            fix=f"did you mean '{near[0]}'?" if near else f"known: {', '.join(known)}",
        )
    return getattr(importlib.import_module(f"{folder}.{name}"), name)


class Shelf:
    """The parts of a folder as attributes: `losses.focal` is what `find(folder, "focal")` gives."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return find(self._folder, name)
        except StoneError as error:
            raise AttributeError(str(error)) from error

    def __dir__(self) -> list[str]:
        return names(self._folder)


def options(part: Callable[..., Any]) -> list[Option]:
    """The keyword-only options of a part, from its signature."""
    signature = inspect.signature(part, eval_str=True)
    return [
        Option(p.name, p.annotation, ... if p.default is inspect.Parameter.empty else p.default)
        for p in signature.parameters.values()
        if p.kind is inspect.Parameter.KEYWORD_ONLY
    ]


def summary(part: Any) -> str:
    """A part's catalogue entry: the first line of its docstring."""
    return (inspect.getdoc(part) or "").partition("\n")[0]


def all_rules(folder: str) -> list[Any]:
    """Every `Rule` in the files of a folder such as `torchstone.rules.dataset`, by code."""
    package = importlib.import_module(folder)
    rules = [
        importlib.import_module(f"{folder}.{entry.name}").RULE
        for entry in pkgutil.iter_modules(package.__path__)
        if not entry.name.startswith("_")
    ]
    rules += [point.load() for point in metadata.entry_points(group=folder)]
    return sorted(rules, key=lambda rule: str(rule.code))
