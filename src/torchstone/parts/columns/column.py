"""A feature column: its kind and its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchstone.core.dataset import ColumnKind
from torchstone.core.records import Cell
from torchstone.parts.columns.dates import read_dates
from torchstone.parts.columns.missing import is_empty, is_missing, written
from torchstone.parts.columns.numbers import read_numbers

if TYPE_CHECKING:
    import numpy as np

# Text has this many words per cell on average, and most of its cells are unlike the others. Names of countries or
# occupations have fewer or repeat. Starting points: over the 13,083 sentences of BANKING77 the mean is 11.9 words.
TEXT_WORDS = 3.0
TEXT_DISTINCT = 0.5


@dataclass(frozen=True)
class Column:
    """A feature column as the dataset holds it.

    values: number: float64 [N] with NaN; category and text: object [N] of str and None.
    note: what is unusual about how it was read, or "". infinite, odd: rows of cells that were set to missing.
    """

    kind: ColumnKind
    values: np.ndarray
    note: str = ""
    infinite: Sequence[int] = ()
    odd: Sequence[int] = ()


def read_column(cells: Sequence[Cell], *, kind: ColumnKind | None = None) -> Column:
    """The column that these cells make: number, else date (as number, seconds since 1970), else text or category.

    kind: `text` or `category` to read it so whatever the cells look like.
    """
    import numpy as np

    if kind is None:
        numbers = read_numbers(cells)
        if numbers is not None:
            return Column("number", numbers.values, numbers.reason, numbers.infinite, numbers.odd)
        dates = read_dates(cells)
        if dates is not None:
            return Column("number", np.array(dates[0]), f"dates ({dates[1]}), as seconds since 1970")
        kind = "text" if is_text(cells) else "category"
    missing = is_empty if kind == "text" else is_missing
    values = np.array([None if missing(cell) else written(cell) for cell in cells], dtype=object)
    return Column(kind, values)


def is_text(cells: Sequence[Cell]) -> bool:
    """Whether these cells are written language rather than names of categories (TEXT_WORDS, TEXT_DISTINCT)."""
    present = [cell for cell in cells if not is_empty(cell)]
    if set(map(type, present)) != {str} or len(set(present)) < TEXT_DISTINCT * len(present):
        return False
    return sum(words(cell) for cell in present) >= TEXT_WORDS * len(present)


def words(text: str) -> float:
    """Words in a text: those between blanks; in scripts without blanks two characters count as a word."""
    return len(text.split()) if text.isascii() else max(len(text.split()), sum(c > "\u2e7f" for c in text) / 2)


def is_nested(cells: Sequence[Cell]) -> bool:
    """Whether a cell is a list, an object or bytes, which no model here reads."""
    return not {list, dict, bytes}.isdisjoint(map(type, cells))


def constant(column: Column) -> str | None:
    """The only value of a column (`nothing` where every cell is missing), or None where there are several.

    One value beside missing cells is no constant: that a cell is missing may tell something.
    """
    if column.kind == "number":
        import numpy as np

        is_there = ~np.isnan(column.values)
        if not is_there.any():
            return "nothing"
        first = column.values[0]
        return f"{first:g}" if is_there.all() and bool((column.values == first).all()) else None
    kinds = set(column.values.tolist())
    if kinds == {None}:
        return "nothing"
    return str(next(iter(kinds))) if len(kinds) == 1 else None


# Below this many rows, values that are all different say little. Starting point, no published source.
IDENTIFIER_ROWS = 20


def identifier(column: Column) -> str | None:
    """Why a column names rows instead of describing them, or None.

    Categories that are all different, and whole numbers that grow by one from row to row.
    """
    import numpy as np

    values = column.values
    if len(values) < IDENTIFIER_ROWS:
        return None
    if column.kind == "number":
        steps = np.diff(values)
        return "it counts the rows" if bool((steps == 1).all()) and float(values[0]).is_integer() else None
    if column.kind == "category" and None not in (kinds := set(values.tolist())) and len(kinds) == len(values):
        return f"all {len(values):,} values are different"
    return None
