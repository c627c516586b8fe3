"""Right answers in evaluations where no loss of torch is computed, and what the script has counted by then."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torchstone.engines.attach.loaders import Loaders, Pass, tensors_of
from torchstone.engines.attach.models import Models, Root
from torchstone.engines.attach.recorder import Recorder, Row
from torchstone.engines.attach.scores import MOST_CLASSES, right_answers


class Answers:
    """Counts argmax(output) == label over a pass; the script's count is read when the next pass begins.

    A sum over a generator stands in no variable before the line is over: hence the wait.
    """

    def __init__(self, recorder: Recorder, models: Models, loaders: Loaders) -> None:
        self.recorder, self._loaders = recorder, loaders
        self._before: dict[str, float] = {}
        self._labels: Tensor | None = None
        self._right: list[Tensor] = []
        self._num = 0
        self._waiting: tuple[Row, dict[str, Any]] | None = None
        loaders.on_start.append(self._start)
        loaders.on_batch.append(self._batch)
        loaders.on_pass.append(self._end)
        models.on_forward.append(self._forward)

    def _start(self, one: Pass, loader: Any) -> None:
        self._before, waiting, self._waiting = right_answers(), self._waiting, None
        self._right, self._num, self._labels = [], 0, None
        if waiting is not None:
            row, seen = waiting
            row["counted_later"] = {**seen, "counted": dict(self._before)}

    def _batch(self, one: Pass, batch: Any) -> None:
        labels = [t for t in tensors_of(batch) if t.ndim == 1 and t.dtype == torch.int64]
        self._labels = labels[0] if len(labels) == 1 else None

    def _forward(self, root: Root, inputs: tuple[Any, ...], output: Any) -> None:
        one, labels, self._labels = self._loaders.current, self._labels, None  # of one forward pass each
        if root.has_grad or one is None or not one.is_open or labels is None or not isinstance(output, Tensor):
            return
        if output.ndim == 2 and len(output) == len(labels) and 2 <= output.shape[1] <= MOST_CLASSES:
            self._right.append((output.detach().argmax(dim=1) == labels.to(output.device)).sum())
            self._num += len(labels)

    def _end(self, one: Pass) -> None:
        row, right = one.row, self._right
        if right and not row["backwards"] and len(right) == row["batches"] and self._num == row["examples"]:
            total = int(torch.stack(right).sum())
            self._waiting = row, {"right": total, "num": self._num, "before": self._before}
        self._right, self._num = [], 0
