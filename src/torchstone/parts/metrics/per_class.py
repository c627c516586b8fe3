"""Precision, recall and F1 of each class or label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torchstone.parts.metrics._counts import counts, f1, ratio


@dataclass(frozen=True)
class ClassScore:
    """One class: `num_true` examples have it, `num_said` were given it, `hits` of them rightly.

    precision is NaN where it is never said, recall where it is never true, f1 where neither.
    """

    index: int
    num_true: int
    num_said: int
    hits: int
    precision: float
    recall: float
    f1: float


def per_class(scores: np.ndarray, target: np.ndarray) -> list[ClassScore]:
    """One row per class (single labels) or label (at 0.5), in the order of the columns of `scores` [N, K]."""
    of = counts(scores, target)
    precision, recall, both = ratio(of.hits, of.said), ratio(of.hits, of.true), f1(of)
    columns = (of.true, of.said, of.hits, precision, recall, both)
    return [ClassScore(k, *row) for k, row in enumerate(zip(*(column.tolist() for column in columns), strict=True))]
