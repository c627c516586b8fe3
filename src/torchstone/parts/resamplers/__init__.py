"""Which training rows of a table are learnt from, and which are made: pure functions of (rows, seed).

Legend of axes: N training rows, M of them that stay, S synthetic rows, D numbers, C categories.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Rows:
    """Encoded training rows: numbers float [N, D] of about mean 0 and deviation 1; categories int64 [N, C] as codes;
    labels int64 [N], the class of each. Other parts of the data never come here."""

    numbers: np.ndarray
    categories: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True)
class Resampled:
    """What is learnt from instead: kept, int64 [M], places of the rows that stay, ascending; made, S synthetic rows."""

    kept: np.ndarray
    made: Rows


# (rows, seed) → what is learnt from instead
Resampler = Callable[[Rows, int], Resampled]
