"""Coefficient of determination."""

from __future__ import annotations

import numpy as np

from torchstone.parts.metrics._counts import is_undefined


def r2(scores: np.ndarray, target: np.ndarray) -> float:
    """Share of the target's variance that is explained: 1 is perfect, 0 is no better than the mean, less is worse.

    NaN where all targets are equal: there is no variance to explain.
    """
    if is_undefined(scores, target):
        return float("nan")
    spread = np.square(target - target.mean()).sum()
    if spread == 0:
        return float("nan")
    return float(1 - np.square(scores.astype(np.float64) - target).sum() / spread)
