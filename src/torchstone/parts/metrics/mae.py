"""Mean absolute error."""

from __future__ import annotations

import numpy as np

from torchstone.parts.metrics._counts import is_undefined


def mae(scores: np.ndarray, target: np.ndarray) -> float:
    """Mean distance between prediction and truth, in the target's own unit."""
    if is_undefined(scores, target):
        return float("nan")
    return float(np.abs(scores.astype(np.float64) - target).mean())
