"""Examples on their way from files to a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torchstone.core.errors import StoneError
from torchstone.core.plan import Choice
from torchstone.core.task import Modality
from torchstone.parts.columns.column import Column
from torchstone.parts.columns.target import Target

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Examples:
    """N labelled examples, not yet split.

    columns: name → inputs, each of N values. keys: N SHA-256 digests of the input. where: N places.
    split: N names of SPLITS, or None where the data does not say. digests: file → SHA-256 of its bytes.
    others: the columns that are not the label. difficulty: float64 [N] with NaN, None where no column says it.
    classes: the class names in the user's order, None to sort those that occur.
    """

    modality: Modality
    columns: Mapping[str, Column]
    keys: Sequence[str]
    where: Sequence[str]
    target: Target
    target_name: str
    split: Sequence[str | None]
    digests: Mapping[str, str]
    choices: tuple[Choice, ...]
    classes: Sequence[str] | None = None
    others: Sequence[str] = ()
    difficulty: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.where)

    def take(self, rows: Sequence[int]) -> Examples:
        """The examples of these rows; raises StoneError where none is left."""
        if not rows:
            raise StoneError(f"none of the {len(self):,} examples can be used", fix="mend the faults named above")
        return replace(
            self,
            columns={name: replace(c, values=c.values[list(rows)]) for name, c in self.columns.items()},
            keys=[self.keys[row] for row in rows],
            where=[self.where[row] for row in rows],
            target=replace(self.target, values=[self.target.values[row] for row in rows]),
            split=[self.split[row] for row in rows],
            difficulty=None if self.difficulty is None else self.difficulty[list(rows)],
        )
