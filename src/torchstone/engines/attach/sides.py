"""Inputs and labels that come from two loaders side by side, each shuffled by itself."""

from __future__ import annotations

import weakref
from typing import Any

from torchstone.engines.attach.loaders import Loaders, Pass, tensors_of
from torchstone.engines.attach.recorder import Recorder, Row

# Batches, drawn in turns, after which a row is written.
TURNS = 3


class Sides:
    """One row "beside" for each pair of loaders, the one of inputs alone and the other of labels alone."""

    def __init__(self, recorder: Recorder, loaders: Loaders) -> None:
        self.recorder = recorder
        self._open: weakref.WeakValueDictionary[int, Pass] = weakref.WeakValueDictionary()
        self._kinds: dict[int, str] = {}
        self._rows: dict[tuple[int, int], Row] = {}
        self._turns: dict[tuple[int, int], int] = {}
        loaders.on_batch.append(self._batch)

    def _batch(self, one: Pass, batch: Any) -> None:
        if one.row["batches"] == 1:
            self._open[one.loader], self._kinds[one.loader] = one, kind_of(batch)
        if self._kinds.get(one.loader) != "labels":
            return
        for loader, other in list(self._open.items()):
            if self._kinds.get(loader) == "inputs" and other.is_open and in_step(one, other):
                self._count(other, one)

    def _count(self, inputs: Pass, labels: Pass) -> None:
        pair = inputs.loader, labels.loader
        self._turns[pair] = turns = self._turns.get(pair, 0) + 1
        if turns == TURNS:
            self._rows[pair] = self.recorder.note(
                "beside", inputs=inputs.loader, labels=labels.loader, place=labels.row["place"], of=labels.row["of"],
                orders=[inputs.row["order"], labels.row["order"]],
                has_generators=[inputs.row["has_generator"], labels.row["has_generator"]],
            )  # fmt: skip


def kind_of(batch: Any) -> str:
    """What a loader deals out: "inputs", "labels", or "both"."""
    tensors = tensors_of(batch)
    if not tensors:
        return "both"
    if all(tensor.ndim == 1 for tensor in tensors):
        return "labels" if len(tensors) == 1 and not tensors[0].is_floating_point() else "both"
    return "inputs" if len(tensors) == 1 else "both"


def in_step(one: Pass, other: Pass) -> bool:
    """Whether two passes over equally many examples in equal batches have come equally far."""
    same = all(one.row[key] is not None and one.row[key] == other.row[key] for key in ("of", "batch_size"))
    return same and abs(one.row["batches"] - other.row["batches"]) <= 1
