"""Which training rows of a table are learnt from, and which are made: pure functions of (rows, seed).

Legend of axes: N training rows, M of them that stay, S synthetic rows, D numbers, C categories.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchstone.core.errors import StoneError

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


# The resamplers that make rows, between those of a class.
GROWING = ("smote", "smote_tomek")

# (rows, seed) → what is learnt from instead
Resampler = Callable[[Rows, int], Resampled]


def check_counts(counts: Sequence[int], *, neighbors: int, share: float) -> None:
    """Raises StoneError where a class that grows has no more rows than `neighbors`; counts: rows of each class."""
    largest = max(counts)
    few = min((count for count in counts if 0 < count < round(share * largest)), default=neighbors + 1)
    if few <= neighbors:
        fix = f"set data.resample.neighbors to {few - 1} or less" if few > 1 else "find more examples of it"
        raise StoneError(
            f"the smallest class has {few} training rows; between each row and its {neighbors} nearest of the class "
            f"at least {neighbors + 1} are needed", where="data.resample.neighbors", fix=fix,
        )  # fmt: skip
