"""Mean average precision over labels."""

from __future__ import annotations

import numpy as np

from torchstone.parts.metrics._counts import defined_mean, is_undefined


def mean_average_precision(scores: np.ndarray, target: np.ndarray) -> float:
    """Mean over labels of the average precision, which needs no threshold; a label that is never true is left out.

    Average precision is the sum of precision x rise in recall over the distinct scores, without interpolation.
    """
    if is_undefined(scores, target):
        return float("nan")
    each = [_average_precision(score_N, true_N > 0) for score_N, true_N in zip(scores.T, target.T, strict=True)]
    return float(defined_mean(np.array(each)))


def _average_precision(score_N: np.ndarray, is_true_N: np.ndarray) -> float:
    num_true = int(is_true_N.sum())
    if num_true == 0:
        return float("nan")
    order = np.argsort(-score_N, kind="stable")
    sorted_score = score_N[order]
    ends = np.append(np.flatnonzero(np.diff(sorted_score)), len(order) - 1)  # the last of each run of equal scores
    hits = np.cumsum(is_true_N[order])[ends]
    return float((hits / (ends + 1) * np.diff(hits, prepend=0)).sum() / num_true)
