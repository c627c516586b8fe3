"""Examples in columns: what every task, rule, split and engine reads."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np

ColumnKind = Literal["number", "category", "text", "image"]
Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


@dataclass(frozen=True)
class Dataset:
    """N examples of one task, column by column.

    ids: N stable names, the digest of the example's input (`#2`, `#3` … for exact repetitions).
    where: N places for a person: `rose/12.jpg`, `train.csv:14`.
    inputs: column name → N values. number: float64, NaN where missing; category and text: object array of
        str, None where missing; image: object array of absolute paths.
    kinds: column name → its kind, in the order in which the model reads the columns.
    target: int64 [N] class index, uint8 [N, K] for several labels, float64 [N] for a number.
    classes: the K class names in the order of the indices; empty for a number.
    split: N strings of SPLITS.
    groups: int64 [N]; examples with equal input share a number.
    difficulty: float64 [N], how hard each example is as the data says it, larger is harder, NaN where it does not
        say; None where it has no such column.
    digest: SHA-256 over every byte that was read and over the labels and splits.
    """

    task: str
    source: str
    ids: np.ndarray
    where: np.ndarray
    inputs: Mapping[str, np.ndarray]
    kinds: Mapping[str, ColumnKind]
    target: np.ndarray
    target_name: str
    classes: Sequence[str]
    split: np.ndarray
    groups: np.ndarray
    digest: str
    difficulty: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, split: Split) -> np.ndarray:
        """The row numbers of one split, ascending, int64."""
        import numpy as np

        return np.flatnonzero(self.split == split)

    def columns(self, kind: ColumnKind) -> list[str]:
        """The names of the columns of one kind, in the order of the model."""
        return [name for name, of in self.kinds.items() if of == kind]

    def texts(self) -> list[str]:
        """One text per example: what its text columns hold, a line for each; a missing one is empty."""
        columns = [self.inputs[name] for name in self.columns("text")]
        return ["\n".join(text or "" for text in row) for row in zip(*columns, strict=True)]

    def take(self, rows: np.ndarray) -> Dataset:
        """The dataset of these rows alone; the digest stays that of the whole."""
        return replace(
            self,
            ids=self.ids[rows],
            where=self.where[rows],
            inputs={name: column[rows] for name, column in self.inputs.items()},
            target=self.target[rows],
            split=self.split[rows],
            groups=self.groups[rows],
            difficulty=None if self.difficulty is None else self.difficulty[rows],
        )


def ids_digest(ids: Iterable[str]) -> str:
    """SHA-256 over the ids of some examples, in this order, each with a line end."""
    return hashlib.sha256("".join(f"{one}\n" for one in ids).encode()).hexdigest()
