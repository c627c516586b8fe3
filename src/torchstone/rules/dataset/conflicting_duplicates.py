"""DAT201: equal inputs with different labels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from torchstone.core.dataset import Dataset
from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.parts.columns.same_input import same_input
from torchstone.rules.dataset._toy import places, toy


def check(dataset: Dataset) -> Iterator[Finding]:
    """One finding for all groups of equal inputs whose labels differ; numbers as target are left alone."""
    if not dataset.classes or len(dataset) == 0:
        return
    groups_N = same_input(dataset.inputs, dataset.kinds, dataset.groups)
    target = dataset.target.reshape(len(dataset), -1)
    order = np.argsort(groups_N, kind="stable")
    same_group = np.diff(groups_N[order]) == 0
    differs = same_group & (np.diff(target[order].astype(np.int64), axis=0) != 0).any(axis=1)
    groups = np.unique(groups_N[order][1:][differs])
    if len(groups) == 0:
        return
    rows = np.flatnonzero(np.isin(groups_N, groups))
    first = np.flatnonzero(groups_N == groups_N[rows[0]])
    pair = places(dataset, first, 50)
    is_table = not {"text", "image"} & set(dataset.kinds.values())
    yield found(
        RULE,
        f"inputs with two or more labels: {len(groups):,} ({len(rows):,} of {len(dataset):,} examples); "
        f"the first: {' = '.join(pair[:3])}",
        where=Where(path=pair[0]),
        severity="advice" if is_table else None,
        evidence={"inputs": len(groups), "examples": len(rows), "share": len(rows) / len(dataset),
                  "first": pair, "places": places(dataset, rows, 20)},
    )


RULE = Rule(
    code="DAT201",
    name="conflicting_duplicates",
    severity="warning",
    summary="the same input stands in the data with different labels",
    why="At most one of the labels is right, so no model can get both, and the other teaches a mistake.",
    fix="Look at the listed examples and keep one label each, or write into the guideline how to decide.",
    source="Northcutt et al. 2021, Pervasive Label Errors in Test Sets; texts are compared without case and blanks",
    check=check,
    trips=lambda: toy(["a", "b", "a"], ["cat", "dog", "dog"]),
    passes=lambda: toy(["a", "b", "a"], ["cat", "dog", "cat"]),
    wrong_when="a table has too few columns to tell its rows apart; then this is its noise (severity advice there)",
)
