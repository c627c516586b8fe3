"""The same answer for every example."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def prior(train: Sized, target: np.ndarray, other: Sized, num_classes: int) -> np.ndarray:
    """The classes' frequencies [M, K], the labels' frequencies [M, K], or the median [M]; inputs are not looked at."""
    import numpy as np

    if num_classes == 0:
        return np.full(len(other), float(np.median(target)))
    shares = target.mean(axis=0) if target.ndim == 2 else np.bincount(target, minlength=num_classes) / len(target)
    return np.tile(shares, (len(other), 1))
