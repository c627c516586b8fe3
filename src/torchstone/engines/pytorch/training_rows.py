"""What training deals out: the rows of the training part, or what a resampler makes of them.

A resampler sees the encoded rows of the training part alone. What it makes stands behind the rows of the data, so that
validation and test, which go by the data's own row numbers, never meet it. It is made anew at every start: a pure
function of the rows and the seed, so that a resumed run and every rank have the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from torchstone.core import catalog
from torchstone.core.dataset import Dataset
from torchstone.core.errors import StoneError
from torchstone.core.plan import Plan
from torchstone.engines.pytorch.batch import Source
from torchstone.engines.pytorch.sources.table import TableSource, gap_columns
from torchstone.parts.resamplers import GROWING, Resampler, Rows, check_counts

FOLDER = "torchstone.parts.resamplers"


@dataclass(frozen=True)
class TrainingRows:
    """The source that training reads, the rows of it that are for training, and their classes.

    rows: int64 [M]; those at or above the length of the dataset are synthetic. labels: int64 [M], None where an
    example has no single class. made: the class of each synthetic row, in their order.
    """

    source: Source
    rows: np.ndarray
    labels: np.ndarray | None
    dataset: Dataset
    made: Sequence[int] = ()

    def name(self, row: int) -> str:
        """How a person finds an example; of a synthetic one, that it is one and of which class."""
        num = len(self.dataset)
        if row < num:
            return f"{self.dataset.ids[row]} ({self.dataset.where[row]})"
        return f"synthetic-{row - num} (made from training rows of '{self.dataset.classes[self.made[row - num]]}')"


def training_rows(dataset: Dataset, encoding: dict[str, Any], plan: Plan, source: Source) -> TrainingRows:
    """What training deals out under a plan; raises StoneError where a resampler cannot work on this data."""
    rows = dataset.rows("train")
    labels = dataset.target[rows] if dataset.target.ndim == 1 and dataset.target.dtype.kind != "f" else None
    name = plan.get("data.resample.name")
    if not name:
        return TrainingRows(source, rows, labels, dataset)
    if labels is None or not isinstance(source, TableSource):
        raise StoneError(f"{name} needs a table with one class for each row", where="data.resample",
                         fix="remove the field; for pictures and texts see sampler")
    part: Resampler = catalog.find(FOLDER, name)(**plan.section("data.resample.options"))
    gaps = gap_columns(encoding)
    result = part(_rows_of(source, rows, labels, gaps), int(plan["train.seed"]))
    made = result.made.labels
    note = _note(name, dataset, labels, labels[result.kept], made)
    extended = source.extended(*_inputs_of(result.made, source.num_numbers, gaps), made, note)
    synthetic = np.arange(len(dataset), len(dataset) + len(made))
    return TrainingRows(
        extended, np.concatenate([rows[result.kept], synthetic]), np.concatenate([labels[result.kept], made]),
        dataset, made.tolist(),
    )  # fmt: skip


def refuse_small_classes(plan: Plan, labels: np.ndarray) -> None:
    """Raises StoneError where a resampler is to make rows of a class that has too few: labels int64 [N], training."""
    if plan.get("data.resample.name") in GROWING:
        check_counts(np.bincount(labels).tolist(), **plan.section("data.resample.options"))


def refuse_difficulty(plan: Plan, goes_by_difficulty: bool) -> None:
    """Raises StoneError for a resampler beside a sampler that goes by the difficulty of the data's own examples."""
    if plan.get("data.resample.name") and goes_by_difficulty:
        raise StoneError(
            f"{plan['sampler.name']} goes by the difficulty of each example, and {plan['data.resample.name']} makes or "
            "drops some", where="data.resample", fix="use one of the two",
        )  # fmt: skip


def as_they_are(plan: Plan) -> Plan:
    """The plan without a resampler, for judging: there is nothing to make then."""
    field = "data.resample.name"
    if not plan.get(field):
        return plan
    return Plan({**plan.choices, field: replace(plan.choices[field], value=None)})


def _rows_of(source: TableSource, rows: np.ndarray, labels: np.ndarray, gaps: Mapping[int, float]) -> Rows:
    """The encoded rows; whether a cell was empty is a category, as there is nothing between yes and no."""
    numbers, categories = source.rows(rows)
    others = np.setdiff1d(np.arange(numbers.shape[1]), list(gaps))
    is_gap = numbers[:, list(gaps)].astype(np.int64)
    return Rows(numbers[:, others], np.hstack([categories, is_gap]), labels)


def _inputs_of(made: Rows, num_numbers: int, gaps: Mapping[int, float]) -> tuple[np.ndarray, np.ndarray]:
    """Numbers [S, D] with the columns of gaps back in their places, and categories [S, C]."""
    numbers = np.zeros((len(made.labels), num_numbers), dtype=np.float32)
    numbers[:, np.setdiff1d(np.arange(num_numbers), list(gaps))] = made.numbers
    num_categories = made.categories.shape[1] - len(gaps)
    for (place, stand_in), is_gap in zip(gaps.items(), made.categories.T[num_categories:], strict=True):
        numbers[:, place] = is_gap
        numbers[is_gap == 1, place - 1] = stand_in
    return numbers, made.categories[:, :num_categories]


def _note(name: str, dataset: Dataset, before: np.ndarray, kept: np.ndarray, made: np.ndarray) -> str:
    counts = [Counter(labels.tolist()) for labels in (before, kept, made)]
    told = [
        f"'{dataset.classes[k]}' {counts[0][k]:,} → {counts[1][k]:,} and {counts[2][k]:,} synthetic"
        for k in sorted(counts[0])
    ]  # fmt: skip
    shown = "; ".join(told[:10]) + ("; …" if len(told) > 10 else "")
    return f"{name}, training rows alone: {shown}"
