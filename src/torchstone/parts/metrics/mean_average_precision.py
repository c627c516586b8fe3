"""Mean average precision over labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from torchstone.parts.metrics._counts import defined_mean, is_undefined


def mean_average_precision(scores: np.ndarray, target: np.ndarray) -> float:
    """Mean over labels of the average precision, which needs no threshold; a label that is never true is left out.

    Average precision is the sum of precision x rise in recall over the distinct scores, without interpolation.
    """
    if is_undefined(scores, target):
        return float("nan")
    return mean_of(ranked(scores, target), np.ones(len(target)))


@dataclass(frozen=True)
class Ranked:
    """One label's examples from the highest score down: rows, last places of runs of equal scores, truth."""

    rows: np.ndarray
    ends: np.ndarray
    is_true: np.ndarray


def ranked(scores: np.ndarray, target: np.ndarray) -> list[Ranked]:
    """Every label of scores and labels [N, K], sorted once, so that many weightings of one set are cheap."""
    labels = []
    for score_N, true_N in zip(scores.T, target.T, strict=True):
        rows = np.argsort(-score_N, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(score_N[rows])), len(rows) - 1)
        labels.append(Ranked(rows, ends, true_N[rows] > 0))
    return labels


def mean_of(labels: Sequence[Ranked], weight_N: np.ndarray) -> float:
    """The metric where example i counts `weight_N[i]` times; NaN where no label is true."""
    return float(defined_mean(np.array([_average_precision(label, weight_N) for label in labels])))


def _average_precision(label: Ranked, weight_N: np.ndarray) -> float:
    weight = weight_N[label.rows]
    seen = np.cumsum(weight)[label.ends]
    hits = np.cumsum(weight * label.is_true)[label.ends]
    if hits[-1] == 0:
        return float("nan")
    precision = np.divide(hits, seen, out=np.zeros(len(hits)), where=seen > 0)
    return float((precision * np.diff(hits, prepend=0)).sum() / hits[-1])
