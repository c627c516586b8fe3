"""Macro F1."""

from __future__ import annotations

import numpy as np

from torchstone.parts.metrics._counts import Counts, counts, defined_mean, f1, is_undefined


def macro_f1(scores: np.ndarray, target: np.ndarray) -> float:
    """Mean of the F1 of each class (or label at 0.5), from counts over the whole set.

    A class that is neither true nor said anywhere is left out; one that is only said counts as 0.
    """
    if is_undefined(scores, target):
        return float("nan")
    return float(mean_f1(counts(scores, target)))


def mean_f1(of: Counts) -> np.ndarray:
    """Mean F1 over the classes that are true or said, along the last axis of the counts."""
    return defined_mean(f1(of))
