"""What counts as a missing cell of a feature, in one place."""

from __future__ import annotations

from torchstone.core.records import Cell

# pandas.read_csv's default list (pandas 2.2 documentation) and the `?` of the UCI archive. Labels are
# different: there only an empty cell is missing, because NA, None and null may be names of classes.
MARKERS = frozenset(
    [
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"),
        *("N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "?"),
    ]
)


def is_missing(cell: Cell) -> bool:
    """Whether a feature's cell is missing: null, NaN, or one of MARKERS with or without blanks around it."""
    if cell is None:
        return True
    if isinstance(cell, str):
        return cell.strip() in MARKERS
    return isinstance(cell, float) and cell != cell


def is_empty(cell: Cell) -> bool:
    """Whether a label's or a text's cell is missing: null, NaN, an empty list, or nothing but blanks."""
    if isinstance(cell, str):
        return not cell.strip()
    return cell is None or cell == [] or (isinstance(cell, float) and cell != cell)


def written(cell: Cell) -> str:
    """A cell as its file writes it: text unchanged, true and false as JSON has them."""
    if isinstance(cell, str):
        return cell
    return str(cell).lower() if isinstance(cell, bool) else str(cell)
