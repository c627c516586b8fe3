"""Small datasets for the examples of rules, and places for their sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from torchstone.core.dataset import SPLITS, ColumnKind, Dataset


def toy(
    values: Sequence[object],
    labels: Sequence[str],
    split: Sequence[str] | None = None,
    *,
    classes: Sequence[str] | None = None,
    kind: ColumnKind = "text",
) -> Dataset:
    """One column of values with one class each; every example in train where no split is given."""
    names = list(classes) if classes is not None else sorted(set(labels))
    column = np.array(values, dtype=np.float64 if kind == "number" else object)
    groups = np.unique(np.array([repr(value) for value in values]), return_inverse=True)[1]
    return Dataset(
        task="tabular-classification" if kind == "number" else f"{kind}-classification",
        source="toy.csv",
        ids=np.array([f"example-{row}" for row in range(len(values))]),
        where=np.array([f"toy.csv:{row + 2}" for row in range(len(values))]),
        inputs={"value": column},
        kinds={"value": kind},
        target=np.array([names.index(label) for label in labels], dtype=np.int64),
        target_name="label",
        classes=names,
        split=np.array(split if split is not None else ["train"] * len(values), dtype="<U10"),
        groups=groups.astype(np.int64),
        digest="toy",
    )


def spread(num: int, classes: Sequence[str] = ("cat", "dog"), shares: Sequence[int] = (70, 15, 15)) -> Dataset:
    """`num` different texts, classes in turn, parts in blocks of so many per hundred."""
    split = np.repeat(np.asarray(SPLITS), np.array(shares) * num // 100)
    labels = [classes[row % len(classes)] for row in range(len(split))]
    return toy([f"text {row}" for row in range(len(split))], labels, split.tolist())


def places(dataset: Dataset, rows: Sequence[int] | np.ndarray, most: int = 5) -> list[str]:
    """Where the first few of these rows stand, as a person looks them up."""
    return [str(place) for place in dataset.where[np.asarray(rows[:most], dtype=np.int64)]]


def named(names: Sequence[str], most: int = 5) -> str:
    """The first few names in a sentence, and how many more there are."""
    listed = ", ".join(f"'{name}'" for name in names[:most])
    return listed if len(names) <= most else f"{listed} and {len(names) - most} more"


def class_counts(dataset: Dataset, rows: np.ndarray) -> np.ndarray:
    """How many of these rows have each class: int64 [K]."""
    target = dataset.target[rows]
    if target.ndim == 2:
        counts: np.ndarray = (target > 0).sum(axis=0)
        return counts
    return np.bincount(target.astype(np.int64), minlength=len(dataset.classes))
