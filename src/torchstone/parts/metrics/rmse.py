"""Root mean squared error."""

from __future__ import annotations

import numpy as np

from torchstone.parts.metrics._counts import is_undefined


def rmse(scores: np.ndarray, target: np.ndarray) -> float:
    """Root of the mean squared distance, in the target's own unit; large mistakes count more than in `mae`."""
    if is_undefined(scores, target):
        return float("nan")
    return float(np.sqrt(np.square(scores.astype(np.float64) - target).mean()))
