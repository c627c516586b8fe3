"""Numbers of a table as a network likes them: around zero, of size one, without gaps.

Legend of axes: N rows, Q knots.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

# A column with a training value further out than this many standard deviations has a heavy tail. The largest of
# 10,000 normal values is near 4 standard deviations out, of exponential values near 8 (ln 10,000 - 1 = 8.2).
HEAVY = 10.0
KNOTS = 100  # points of the quantile curve of a heavy-tailed column


def fit_numbers(name: str, values: np.ndarray) -> dict[str, Any]:
    """What a column of training numbers (float64, NaN or infinite where missing) teaches.

    median: stands in for what is missing. has_missing: whether the training part has gaps; it then gets a 0/1
    column of its own, as absence often says something. knots, scores: for a heavy tail, a curve from value to
    normal score (the quantile transformation of Gorishniy et al. 2021, section 4.3); else empty. mean, std: of the
    training values, filled and bent; std 0 counts as 1, so that a constant column becomes 0.
    """
    known = values[np.isfinite(values)]
    learnt: dict[str, Any] = {
        "name": name,
        "median": float(np.median(known)) if len(known) else 0.0,
        "has_missing": len(known) < len(values),
        "knots": [],
        "scores": [],
    }
    filled = np.where(np.isfinite(values), values, learnt["median"])
    mean, std = _moments(filled)
    if len(filled) and np.abs((filled - mean) / std).max() > HEAVY:
        knots, scores = _curve(known)
        learnt["knots"], learnt["scores"] = knots.tolist(), scores.tolist()
        mean, std = _moments(np.interp(filled, knots, scores))
    return {**learnt, "mean": mean, "std": std}


def encode_numbers(learnt: dict[str, Any], values: np.ndarray) -> list[np.ndarray]:
    """One column, float32 [N], of standardised values, and a second of 0/1 where the training part had gaps.

    Values are held within 10 standard deviations: what is further out than anything seen in training must not
    decide alone.
    """
    missing = ~np.isfinite(values)
    filled = np.where(missing, learnt["median"], values)
    if learnt["knots"]:
        filled = np.interp(filled, learnt["knots"], learnt["scores"])
    standardised = np.clip((filled - learnt["mean"]) / learnt["std"], -HEAVY, HEAVY).astype(np.float32)
    return [standardised, missing.astype(np.float32)] if learnt["has_missing"] else [standardised]


def _moments(values: np.ndarray) -> tuple[float, float]:
    """Mean and standard deviation; a spread below the rounding of float64 is none, and none counts as 1."""
    if not len(values):
        return 0.0, 1.0
    scale = float(np.abs(values).max()) or 1.0
    mean, std = float((values / scale).mean()) * scale, float((values / scale).std()) * scale
    return mean, std if std > 1e-12 * scale else 1.0


def _curve(known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Q values, ascending, and the normal score of each one's middle rank."""
    unique, counts = np.unique(known, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2) / len(known)
    chosen = np.unique(np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], KNOTS)).clip(0, len(unique) - 1))
    normal = NormalDist()
    return unique[chosen], np.array([normal.inv_cdf(float(rank)) for rank in ranks[chosen]])
