"""Cells to numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchstone.core.records import Cell
from torchstone.parts.columns.missing import is_missing

if TYPE_CHECKING:
    import numpy as np

# A column stays a column of numbers while at most this share of its cells is none: such cells are typing errors, and
# reading 10,000 numbers as 10,000 categories would be the worse mistake. Starting point, no published source.
ODD_SHARE = 0.01

_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_CODE = re.compile(r"[+-]?0\d+")


@dataclass(frozen=True)
class Numbers:
    """values: float64 [N], NaN where missing, infinite or odd. infinite, odd: rows. reason: what is unusual."""

    values: np.ndarray
    infinite: list[int]
    odd: list[int]
    reason: str


def number(cell: Cell) -> float | None:
    """The number that a cell holds (NaN and infinity included), or None. Underscores and truth values are none."""
    if isinstance(cell, str):
        if "_" in cell:
            return None
        try:
            return float(cell)
        except ValueError:
            return None
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return None
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def read_numbers(cells: Sequence[Cell]) -> Numbers | None:
    """The column as numbers, or None where it holds something else.

    Codes with leading zeros ("007") make no numbers. Decimal commas and thousands separators are understood where
    every number with a comma agrees with it.
    """
    import numpy as np

    present = [row for row, cell in enumerate(cells) if not is_missing(cell)]
    if not present:
        return None
    way = _way([cells[row] for row in present])
    if way is None:
        return None
    reason, read = way
    values = np.full(len(cells), np.nan)
    infinite, odd = [], []
    for row in present:
        value = read(cells[row])
        if value is None:
            odd.append(row)
            if len(odd) > ODD_SHARE * len(present):
                return None
        elif math.isinf(value):
            infinite.append(row)
        else:
            values[row] = value
    return Numbers(values, infinite, odd, reason)


def _way(present: list[Cell]) -> tuple[str, Callable[[Cell], float | None]] | None:
    texts = [cell.strip() for cell in present if isinstance(cell, str)]
    if any(_CODE.fullmatch(text) for text in texts):
        return None
    commas = [text for text in texts if "," in text]
    if not commas or len(commas) <= ODD_SHARE * len(present):
        return "", number
    if all(_THOUSANDS.fullmatch(text) for text in commas):
        return "commas read as thousands separators", lambda cell: number(_swap(cell, ""))
    if all(_COMMA.fullmatch(text) for text in commas):
        return "commas read as decimal commas", lambda cell: number(_swap(cell, "."))
    return None


def _swap(cell: Cell, by: str) -> Cell:
    return cell.replace(",", by) if isinstance(cell, str) else cell
