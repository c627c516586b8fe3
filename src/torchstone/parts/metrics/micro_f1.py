"""Micro F1."""

from __future__ import annotations

import numpy as np

from torchstone.parts.metrics._counts import Counts, counts, f1, is_undefined


def micro_f1(scores: np.ndarray, target: np.ndarray) -> float:
    """F1 of all labels taken together at 0.5: frequent labels count more; NaN where no label is true or said."""
    if is_undefined(scores, target):
        return float("nan")
    each = counts(scores, target)
    return float(f1(Counts(each.hits.sum(), each.said.sum(), each.true.sum())))
