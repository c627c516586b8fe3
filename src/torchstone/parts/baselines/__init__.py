"""What one gets without a network: predictors so simple that a model must beat them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np


class Baseline(Protocol):
    """Learns from training inputs and targets, and scores others.

    train, other: what the baseline's docstring says; target: of the training inputs, as `core.dataset.Dataset` holds
    it. Returns scores of `other` as metrics take them: float [M, K] or [M].
    """

    def __call__(self, train: Any, target: np.ndarray, other: Any, num_classes: int) -> np.ndarray: ...
