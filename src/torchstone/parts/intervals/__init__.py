"""Intervals: how far a metric could lie elsewhere if the set had been drawn again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchstone.core.catalog import find

if TYPE_CHECKING:
    import numpy as np

_SHARES = frozenset({"accuracy", "subset_accuracy", "top5_accuracy"})


def interval(name: str, scores: np.ndarray, target: np.ndarray, *, seed: int = 0) -> tuple[float, float]:
    """The 95 % interval (low, high) of a metric by name: Wilson for a share of examples, else the bootstrap.

    It tells the chance of the draw of this set only, not that of another seed or of other data. (NaN, NaN) where the
    metric is undefined. Shapes as for metrics. Raises StoneError for an unknown name.
    """
    from torchstone.parts.intervals.bootstrap import bootstrap
    from torchstone.parts.intervals.wilson import wilson

    metric = find("torchstone.parts.metrics", name)
    if name not in _SHARES:
        return bootstrap(metric, scores, target, seed=seed)
    value = metric(scores, target)
    return wilson(round(value * len(target)), len(target)) if value == value else (value, value)
