"""Rows of a table as standardised numbers and numbered categories.

Legend of axes: N rows, B rows of a batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from torchstone.core.dataset import Dataset
from torchstone.core.errors import StoneError
from torchstone.core.plan import Plan
from torchstone.engines.pytorch.batch import Batch, Shape
from torchstone.engines.pytorch.sources.numeric import encode_numbers, fit_numbers
from torchstone.engines.pytorch.targets import fit_target, target_tensor

# Of a column with more categories, the rarest count as never seen: an embedding row costs memory and is learnt
# only from the few rows that hold it.
MOST_CATEGORIES = 50_000


def fit(dataset: Dataset, plan: Plan) -> dict[str, Any]:
    """What the training rows teach about each column.

    numbers: one entry per number column, see `fit_numbers`. categories: name and values, the most frequent first,
    ties by name; value i of the list becomes i + 1, and 0 stands for missing, never seen, or rarer than the 50,000
    most frequent. A number as target is standardised: target_mean and target_std bring a prediction back.
    Raises StoneError for columns that are neither number nor category, and where there is no column at all.
    """
    _refuse_others(dataset)
    train = dataset.take(dataset.rows("train"))
    return {
        "numbers": [fit_numbers(name, train.inputs[name]) for name in dataset.columns("number")],
        "categories": [
            {"name": name, "values": _frequent(train.inputs[name])} for name in dataset.columns("category")
        ],
        **fit_target(dataset),
    }


def open_source(dataset: Dataset, encoding: dict[str, Any], plan: Plan) -> TableSource:
    """All rows of `dataset` as tensors in memory."""
    numbers: list[np.ndarray] = []
    for learnt in encoding["numbers"]:
        numbers += encode_numbers(learnt, dataset.inputs[learnt["name"]])
    categories = [_numbered(dataset.inputs[column["name"]], column["values"]) for column in encoding["categories"]]
    return TableSource(
        _side_by_side(numbers, len(dataset), np.float32),
        _side_by_side(categories, len(dataset), np.int64),
        target_tensor(dataset, encoding),
        columns=[name for learnt in encoding["numbers"] for name in names_of(learnt)],
    )


def names_of(learnt: dict[str, Any]) -> list[str]:
    """What the encoded columns of one number column are called: the number, and where it can be missing, the gap."""
    return [learnt["name"], *([f"{learnt['name']} is missing"] if learnt["has_missing"] else [])]


def shape(encoding: dict[str, Any], num_outputs: int) -> Shape:
    """What a table model is built for; numbers counts the 0/1 columns of gaps too."""
    return Shape(
        num_outputs,
        numbers=sum(1 + learnt["has_missing"] for learnt in encoding["numbers"]),
        categories=tuple(1 + len(column["values"]) for column in encoding["categories"]),
    )


def gap_columns(encoding: dict[str, Any]) -> dict[int, float]:
    """Which of the encoded number columns say, as 0 or 1, that a cell was empty → what the column before holds then."""
    places, place = {}, 0
    for learnt in encoding["numbers"]:
        place += 1 + learnt["has_missing"]
        if learnt["has_missing"]:
            places[place - 1] = float(encode_numbers(learnt, np.array([np.nan]))[0][0])
    return places


class TableSource:
    """N encoded rows in memory; a batch is one index_select per tensor."""

    is_heavy = False

    def __init__(
        self, numbers: torch.Tensor, categories: torch.Tensor, target: torch.Tensor, notes: Sequence[str] = (),
        columns: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """numbers: float32 [N, numbers]; categories: int64 [N, categories]; either may have no columns.

        columns: the name of each column of numbers; none where nobody knows.
        """
        self._numbers = numbers
        self._categories = categories
        self._target = target
        self.notes = notes
        self.columns = columns

    @property
    def num_numbers(self) -> int:
        """How many number columns there are, those of gaps among them."""
        return self._numbers.shape[1]

    def rows(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers float32 [B, numbers] and categories int64 [B, categories] of these rows, copied."""
        numbers, categories = self.batch(rows, None).inputs
        return numbers.numpy(), categories.numpy()

    def extended(self, numbers: np.ndarray, categories: np.ndarray, target: np.ndarray, note: str) -> TableSource:
        """This source with further encoded rows behind its own, and something to tell of them."""
        return TableSource(
            torch.cat([self._numbers, torch.from_numpy(numbers)]),
            torch.cat([self._categories, torch.from_numpy(categories)]),
            torch.cat([self._target, torch.from_numpy(target).to(self._target.dtype)]),
            [*self.notes, note],
            self.columns,
        )

    def __len__(self) -> int:
        return len(self._target)

    def batch(self, rows: np.ndarray, epoch: int | None) -> Batch:
        """numbers float32 [B, numbers] and categories int64 [B, categories], always both."""
        index = torch.from_numpy(rows)
        numbers = self._numbers.index_select(0, index)
        categories = self._categories.index_select(0, index)
        return Batch((numbers, categories), self._target.index_select(0, index), rows)


def _refuse_others(dataset: Dataset) -> None:
    others = [f"{name} ({kind})" for name, kind in dataset.kinds.items() if kind not in ("number", "category")]
    if others:
        raise StoneError(
            f"tables are read as numbers and categories; these columns are neither: {', '.join(others)}",
            where=dataset.source, fix="leave them out with data.features, or choose another task",
        )
    if not dataset.kinds:
        raise StoneError(
            "there is no column to learn from", where=dataset.source, fix="name the columns in data.features"
        )


def _frequent(values: np.ndarray) -> list[str]:
    counts = Counter(str(value) for value in values if value is not None)
    return sorted(counts, key=lambda value: (-counts[value], value))[:MOST_CATEGORIES]


def _numbered(values: np.ndarray, known: list[str]) -> np.ndarray:
    index = {value: place + 1 for place, value in enumerate(known)}
    return np.array([0 if value is None else index.get(str(value), 0) for value in values], dtype=np.int64)


def _side_by_side(columns: list[np.ndarray], length: int, dtype: type[np.generic]) -> torch.Tensor:
    if not columns:
        return torch.from_numpy(np.empty((length, 0), dtype))
    return torch.from_numpy(np.stack(columns, axis=1).astype(dtype, copy=False))
