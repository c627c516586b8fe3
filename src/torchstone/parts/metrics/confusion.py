"""Confusion matrix: not a single number, but what several of them are made of."""

from __future__ import annotations

import numpy as np


def confusion(scores: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Counts int64 [K, K], row = true class, column = class with the highest score. Single labels only."""
    num_classes = scores.shape[1]
    cell_N = target * num_classes + scores.argmax(1)
    return np.bincount(cell_N, minlength=num_classes**2).reshape(num_classes, num_classes)
