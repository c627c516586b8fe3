"""Top-5 accuracy."""

from __future__ import annotations

import numpy as np

from torchstone.parts.metrics._counts import is_undefined


def top5_accuracy(scores: np.ndarray, target: np.ndarray) -> float:
    """Share of examples whose true class is among the five highest scores.

    Counted as fewer than five classes scoring above the true one, so that a tie counts in its favour.
    """
    if is_undefined(scores, target):
        return float("nan")
    own_N1 = scores[np.arange(len(target)), target][:, None]
    return float(((scores > own_N1).sum(1) < 5).mean())
