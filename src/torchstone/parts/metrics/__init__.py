"""Metrics: whole sets in, one number out; counted over all examples at once, never a mean over batches.

Every metric is `(scores, target) -> float`, where scores are float32 [N, K] probabilities with int64 [N] class
indices, [N, K] sigmoids with uint8 [N, K] labels, or [N] predictions with float64 [N] numbers. A metric that is
undefined for a set (empty, a score that is not finite, nothing to divide by) is NaN, which files hold as null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from torchstone.core.task import Direction, TargetKind

if TYPE_CHECKING:
    import numpy as np

_OF_KIND: dict[TargetKind, tuple[str, ...]] = {
    "single": ("accuracy", "balanced_accuracy", "macro_f1", "log_loss"),
    "multi": ("micro_f1", "macro_f1", "subset_accuracy", "mean_average_precision"),
    "number": ("mae", "rmse", "r2"),
}
_LESS_IS_BETTER = frozenset({"loss", "log_loss", "mae", "rmse"})


class Metric(Protocol):
    """What every metric is; see the room's own description for the shapes."""

    def __call__(self, scores: np.ndarray, target: np.ndarray) -> float: ...


def metrics_for(target_kind: TargetKind) -> list[str]:
    """The metrics that a run of this kind of target reports, the most usual first."""
    return list(_OF_KIND[target_kind])


def direction(name: str) -> Direction:
    """Whether more (`max`) or less (`min`) of a metric is better; `loss` counts as a metric here."""
    return "min" if name in _LESS_IS_BETTER else "max"
