"""Numbers of rows, as rules look at them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def is_number(value: Any) -> bool:
    """Whether a value of a row is a finite number; a trace writes NaN and infinity as null."""
    return isinstance(value, (int, float)) and math.isfinite(value)


def fell(before: tuple[float, float], after: tuple[float, float], *, share: float, errors: float) -> bool:
    """Whether one mean lies below another, (mean, standard error) each, by `share` of it and by more than chance."""
    (first, first_error), (last, last_error) = before, after
    return first - last > max(share * abs(first), errors * math.hypot(first_error, last_error))


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean of one value or more, and its standard error."""
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1))
    return mean, spread / math.sqrt(len(values))
