"""Counts per class, from which accuracy, recall, precision and F1 are made.

Legend of axes: N examples, K classes or labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Where a sigmoid counts as "yes": the middle, which is a logit of 0.
YES = 0.5


@dataclass(frozen=True)
class Counts:
    """How often each class was right, was said and was true: three int64 or float64 [..., K]."""

    hits: np.ndarray
    said: np.ndarray
    true: np.ndarray


def is_undefined(scores: np.ndarray, target: np.ndarray) -> bool:
    """Whether no metric can be told: no example, or a score that is not finite."""
    return len(target) == 0 or not bool(np.isfinite(scores).all())


def counts(scores: np.ndarray, target: np.ndarray) -> Counts:
    """The counts of a whole set, of class indices [N] or labels [N, K]; ties go to the lower index."""
    if target.ndim == 2:
        said_NK, true_NK = scores >= YES, target > 0
        return Counts((said_NK & true_NK).sum(0), said_NK.sum(0), true_NK.sum(0))
    num_classes = scores.shape[1]
    said_N = scores.argmax(1)
    hits = np.bincount(target[said_N == target], minlength=num_classes)
    return Counts(hits, np.bincount(said_N, minlength=num_classes), np.bincount(target, minlength=num_classes))


def ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """above / below as float64, NaN where there is nothing to divide by."""
    quotient = np.full(np.shape(below), np.nan)
    np.divide(above, below, out=quotient, where=np.asarray(below) > 0)
    return quotient


def f1(of: Counts) -> np.ndarray:
    """2 hits / (said + true) per class, float64 [..., K]; NaN for a class that is neither said nor true."""
    return ratio(2 * of.hits, of.said + of.true)


def defined_mean(values: np.ndarray) -> np.ndarray:
    """The mean of what is not NaN along the last axis, NaN where all of it is."""
    is_defined = ~np.isnan(values)
    return ratio(np.where(is_defined, values, 0.0).sum(-1), is_defined.sum(-1))
