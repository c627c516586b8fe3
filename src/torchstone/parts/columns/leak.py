"""Features that tell the label outright."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchstone.parts.columns.column import Column

if TYPE_CHECKING:
    import numpy as np

# Below this many rows a one-to-one match may be chance. Starting point: two balanced classes match by chance in 10
# rows with probability 2^-9.
MIN_ROWS = 10
# |r| of a number that is the label in other units, up to rounding in float64.
EXACT = 1.0 - 1e-12


def leak(column: Column, target: np.ndarray, classes: int) -> str | None:
    """How a feature tells the label, or None.

    target: int64 [N] class index with `classes` > 0, else float64 [N]. A number target leaks through a feature that
    is the same or a straight line of it; a class leaks where each value stands for one class and each class for one
    value.
    """
    import numpy as np

    if len(target) < MIN_ROWS or column.kind in ("text", "image"):
        return None
    if classes == 0:
        return _line(column, target)
    codes = _codes(column)
    pairs = len(np.unique(np.stack([codes, target]), axis=1).T)
    if pairs == len(np.unique(codes)) == len(np.unique(target)) > 1:
        return "each of its values stands for exactly one class, and each class for one value"
    return None


def _codes(column: Column) -> np.ndarray:
    import numpy as np

    if column.kind == "number":
        return np.unique(column.values, return_inverse=True)[1]
    seen: dict[str | None, int] = {}
    return np.array([seen.setdefault(value, len(seen)) for value in column.values.tolist()], dtype=np.int64)


def _line(column: Column, target: np.ndarray) -> str | None:
    import numpy as np

    if column.kind != "number" or np.isnan(column.values).any():
        return None
    if np.array_equal(column.values, target):
        return "it equals the label in every row"
    if column.values.std() == 0 or target.std() == 0:
        return None
    return "it is the label in other units" if abs(np.corrcoef(column.values, target)[0, 1]) >= EXACT else None
