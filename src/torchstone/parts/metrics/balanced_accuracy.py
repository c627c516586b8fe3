"""Balanced accuracy."""

from __future__ import annotations

import numpy as np

from torchstone.parts.metrics._counts import Counts, counts, defined_mean, is_undefined, ratio


def balanced_accuracy(scores: np.ndarray, target: np.ndarray) -> float:
    """Mean recall over the classes that occur in the set: every class counts the same, however rare."""
    if is_undefined(scores, target):
        return float("nan")
    return float(mean_recall(counts(scores, target)))


def mean_recall(of: Counts) -> np.ndarray:
    """Mean recall over the classes with true examples, along the last axis of the counts."""
    return defined_mean(ratio(of.hits, of.true))
