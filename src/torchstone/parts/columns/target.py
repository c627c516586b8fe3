"""What kind of target a label column is, and its values."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from torchstone.core.errors import StoneError
from torchstone.core.records import Cell
from torchstone.core.task import TargetKind
from torchstone.parts.columns.missing import is_empty, is_missing, written
from torchstone.parts.columns.numbers import number

# More different whole numbers than this are amounts, not classes. Starting point: digits have 10, months 12, letters
# 26; scikit-learn's diabetes has 214 in 442 rows.
INTEGER_CLASSES = 30
SEPARATORS = ("|", ";")
# A separator is one when it stands in so many cells, and nearly every cell cut by it gives names (starting points).
SEPARATED_CELLS = 0.05
CLEAN_CELLS = 0.98
_CODE = re.compile(r"[+-]?0\d+")


@dataclass(frozen=True)
class Target:
    """values: per row a class name, a list of class names, or a number; None where the label is missing."""

    kind: TargetKind
    values: list[str | list[str] | float | None]
    reason: str


def read_target(
    cells: Sequence[Cell], *, kind: TargetKind | None = None, separator: str | None = None, numbers: bool = True
) -> Target:
    """The target that a label column holds.

    kind: what the user's task wants, None to find out. separator: what stands between several labels.
    numbers: whether a number may be predicted at all (tables only). Lists, or cells with a separator, are several
    labels; fractions, and more than INTEGER_CLASSES whole numbers, are a number; all else are classes, whose names
    stay exactly as written. Raises StoneError where `kind` asks for numbers and cells hold none.
    """
    if kind == "multi" or (kind is None and (separator or any(isinstance(cell, list) for cell in cells))):
        return _several(cells, separator or _separator(cells), "lists of labels" if separator is None else "")
    if kind == "number":
        return _numbers(cells, "the task predicts a number")
    if kind is None:
        if (found := _separator(cells)) is not None:
            return _several(cells, found, "")
        if numbers and (reason := _amount(cells)) is not None:
            return _numbers(cells, reason)
    values: list[str | list[str] | float | None] = [None if is_empty(cell) else written(cell) for cell in cells]
    return Target("single", values, f"{len(set(values) - {None}):,} different labels")


def read_flags(columns: Sequence[Sequence[Cell]], names: Sequence[str], where: Sequence[str]) -> Target:
    """The target of several 0/1 columns, each a class; a row with a missing flag has no label.

    Raises StoneError naming the first cell that is neither 0, 1, true nor false.
    """
    flags = {"0": False, "1": True, "false": False, "true": True, "0.0": False, "1.0": True}
    values: list[str | list[str] | float | None] = []
    for row, cells in enumerate(zip(*columns, strict=True)):
        labels: list[str] = []
        for name, cell in zip(names, cells, strict=True):
            flag = flags.get(written(cell).strip().lower())
            if flag is None and not is_missing(cell):
                raise StoneError(
                    f"'{written(cell)}' in the label column {name}; expected 0 or 1",
                    where=where[row],
                    fix="several label columns must hold 0 and 1; else name one column: --label NAME",
                )
            if flag:
                labels.append(name)
        is_whole = not any(is_missing(cell) for cell in cells)
        values.append(labels if is_whole else None)
    return Target("multi", values, f"{len(names)} label columns of 0 and 1")


def _several(cells: Sequence[Cell], separator: str | None, reason: str) -> Target:
    values: list[str | list[str] | float | None] = []
    for cell in cells:
        if isinstance(cell, list):
            values.append(list(dict.fromkeys(written(part) for part in cell if not is_empty(part))))
        elif is_empty(cell):
            values.append(None)
        else:
            parts = written(cell).split(separator) if separator else [written(cell)]
            values.append(list(dict.fromkeys(part.strip() for part in parts if part.strip())))
    return Target("multi", values, reason or f"labels stand in one cell, separated by '{separator}'")


def _separator(cells: Sequence[Cell]) -> str | None:
    present = [cell for cell in cells if isinstance(cell, str) and cell.strip()]
    for separator in SEPARATORS:
        cut = [[part.strip() for part in cell.split(separator)] for cell in present]
        several = sum(len(parts) > 1 for parts in cut)
        clean = sum(all(parts) and len(set(parts)) == len(parts) for parts in cut)
        names = {part for parts in cut for part in parts}
        is_vocabulary = len(names) <= max(2, len(cut) / 2) and len(names) < sum(map(len, cut)) / 2
        if several and several >= SEPARATED_CELLS * len(cut) and clean >= CLEAN_CELLS * len(cut) and is_vocabulary:
            return separator
    return None


def _amount(cells: Sequence[Cell]) -> str | None:
    """Why these labels are amounts, or None where they are names."""
    distinct = Counter(cell if isinstance(cell, str) else written(cell) for cell in cells if not is_missing(cell))
    values = [number(text) for text in distinct]
    if not values or any(value is None for value in values) or any(_CODE.fullmatch(t.strip()) for t in distinct):
        return None
    if any(value is not None and not value.is_integer() for value in values):
        few = "; if they name classes: --set task=tabular-classification" if len(distinct) <= INTEGER_CLASSES else ""
        return f"the labels are numbers with fractions ({len(distinct):,} different{few})"
    if len(distinct) > INTEGER_CLASSES:
        return f"the labels are {len(distinct):,} different whole numbers, more than {INTEGER_CLASSES}"
    return None


def _numbers(cells: Sequence[Cell], reason: str) -> Target:
    values: list[str | list[str] | float | None] = []
    for row, cell in enumerate(cells):
        value = None if is_missing(cell) else number(cell)
        if value is None and not is_missing(cell):
            raise StoneError(
                f"the label '{written(cell)}' of row {row + 1:,} is no number, and the task predicts a number",
                fix="choose a classification task, or mend the label",
            )
        values.append(None if value is None or value - value != 0 else value)
    return Target("number", values, reason)
