"""Accuracy."""

from __future__ import annotations

import numpy as np

from torchstone.parts.metrics._counts import is_undefined


def accuracy(scores: np.ndarray, target: np.ndarray) -> float:
    """Share of examples whose highest score is the true class; ties go to the lower index."""
    if is_undefined(scores, target):
        return float("nan")
    return float((scores.argmax(1) == target).mean())
