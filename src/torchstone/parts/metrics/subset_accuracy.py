"""Subset accuracy."""

from __future__ import annotations

import numpy as np

from torchstone.parts.metrics._counts import YES, is_undefined


def subset_accuracy(scores: np.ndarray, target: np.ndarray) -> float:
    """Share of examples of which every label is right at 0.5."""
    if is_undefined(scores, target):
        return float("nan")
    return float(((scores >= YES) == (target > 0)).all(1).mean())
