"""A straight line, fitted by least squares."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

# Weight of the penalty per example: the columns are standardised, so that one value fits all. Starting point.
PENALTY = 1e-3


def ridge(train: np.ndarray, target: np.ndarray, other: np.ndarray, num_classes: int) -> np.ndarray:
    """Least squares with a penalty (Hoerl & Kennard 1970), of the number or of one indicator per class.

    train float [N, D], other float [M, D]; columns are standardised on train, NaN becomes the mean. For classes the
    fitted indicators are clipped to [0, 1] and made to add up to 1.
    """
    import numpy as np

    mean, std = np.nanmean(train, axis=0), np.nanstd(train, axis=0)
    mean, std = np.nan_to_num(mean), np.where(std > 0, std, 1.0)
    a, b = (np.nan_to_num((x - mean) / std) for x in (train, other))
    wanted = target[:, None].astype(np.float64)
    if num_classes:
        wanted = target.astype(np.float64) if target.ndim == 2 else np.eye(num_classes)[target]
    middle = wanted.mean(axis=0)
    gram = a.T @ a + PENALTY * len(a) * np.eye(a.shape[1])
    fitted = b @ np.linalg.solve(gram, a.T @ (wanted - middle)) + middle
    if not num_classes:
        return np.asarray(fitted[:, 0])
    fitted = np.clip(fitted, 1e-6, 1 - 1e-6)
    return np.asarray(fitted if target.ndim == 2 else fitted / fitted.sum(axis=1, keepdims=True))
