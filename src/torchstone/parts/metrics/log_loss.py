"""Log loss."""

from __future__ import annotations

import numpy as np

from torchstone.parts.metrics._counts import is_undefined


def log_loss(scores: np.ndarray, target: np.ndarray) -> float:
    """Mean of -log(probability of the true class), natural logarithm.

    A probability is held within [e, 1 - e], where e is the smallest step of its dtype (1.2e-7 for float32), so that
    one certain mistake costs 15.9 and not infinity; scikit-learn does the same.
    """
    if is_undefined(scores, target):
        return float("nan")
    own_N = scores[np.arange(len(target)), target]
    step = np.finfo(scores.dtype).eps
    return float(-np.log(np.clip(own_N, step, 1 - step).astype(np.float64)).mean())
