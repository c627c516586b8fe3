"""The bootstrap over examples, for any metric.

Legend of axes: R resamples, K classes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from torchstone.parts.metrics import Metric
from torchstone.parts.metrics._counts import Counts, is_undefined
from torchstone.parts.metrics.balanced_accuracy import balanced_accuracy, mean_recall
from torchstone.parts.metrics.confusion import confusion
from torchstone.parts.metrics.macro_f1 import macro_f1, mean_f1
from torchstone.parts.metrics.mean_average_precision import mean_average_precision, mean_of, ranked

# Of single labels, these read the confusion matrix alone.
_OF_COUNTS: dict[Metric, Callable[[Counts], np.ndarray]] = {macro_f1: mean_f1, balanced_accuracy: mean_recall}


def bootstrap(
    metric: Metric,
    scores: np.ndarray,
    target: np.ndarray,
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[float, float]:
    """The percentile interval (low, high) of a metric over `resamples` draws of N examples with replacement.

    Efron 1979, Annals of Statistics 7. Resamples in which the metric is undefined are left out; (NaN, NaN) where all
    are. Too narrow below some 30 examples, and for a macro metric with classes of very few examples.
    """
    if is_undefined(scores, target):
        return float("nan"), float("nan")
    draw = np.random.default_rng(seed)
    if target.ndim == 1 and scores.ndim == 2 and metric in _OF_COUNTS:
        values = _OF_COUNTS[metric](_drawn_counts(confusion(scores, target), resamples, draw))
    elif metric is mean_average_precision:
        values = _drawn_precision(scores, target, resamples, draw)
    else:
        drawn = (draw.integers(0, len(target), len(target)) for _ in range(resamples))
        values = np.array([metric(scores[rows], target[rows]) for rows in drawn])
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return float("nan"), float("nan")
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _drawn_precision(scores: np.ndarray, target: np.ndarray, resamples: int, draw: np.random.Generator) -> np.ndarray:
    # An example drawn twice counts twice: sorting once and weighting is the same as sorting each resample.
    labels, num = ranked(scores, target), len(target)
    drawn = (np.bincount(draw.integers(0, num, num), minlength=num).astype(np.float64) for _ in range(resamples))
    return np.array([mean_of(labels, weight_N) for weight_N in drawn])


def _drawn_counts(matrix_KK: np.ndarray, resamples: int, draw: np.random.Generator) -> Counts:
    # Drawing examples with replacement draws the cells of their confusion matrix from a multinomial: exactly the
    # same distribution, at a cost that does not grow with the number of examples.
    row_C, column_C = np.nonzero(matrix_KK)
    cell_C = matrix_KK[row_C, column_C]
    drawn_RC = draw.multinomial(cell_C.sum(), cell_C / cell_C.sum(), size=resamples)
    num_classes = len(matrix_KK)
    hits, said, true = (np.zeros((resamples, num_classes)) for _ in range(3))
    for cell, (row, column) in enumerate(zip(row_C, column_C, strict=True)):
        true[:, row] += drawn_RC[:, cell]
        said[:, column] += drawn_RC[:, cell]
        if row == column:
            hits[:, row] += drawn_RC[:, cell]
    return Counts(hits, said, true)
