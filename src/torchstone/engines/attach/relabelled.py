"""Whether an input of a loader comes with the same label in its second pass."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torchstone.engines.attach.fingerprints import is_labels, prints_of
from torchstone.engines.attach.loaders import Loaders, Pass, tensors_of
from torchstone.engines.attach.recorder import Recorder, Row

# Examples whose labels are remembered, numbers that an input has at least, and examples that are compared.
MOST, FEWEST_NUMBERS, COMPARED = 8192, 4, 512


class Relabelled:
    """One row for each loader whose second pass brought inputs of the first again: how many with another label."""

    def __init__(self, recorder: Recorder, loaders: Loaders) -> None:
        self.recorder = recorder
        self._labels: dict[int, dict[int, float | None]] = {}  # None: an input that has several
        self._rows: dict[int, Row] = {}
        loaders.on_batch.append(self._batch)

    def _batch(self, one: Pass, batch: Any) -> None:
        known = self._labels.setdefault(one.loader, {})
        if one.number > 2 or (one.number == 1 and len(known) >= MOST) or (one.number == 2 and not known):
            return
        pairs = pairs_of(tensors_of(batch))
        if one.number == 1:
            for key, label in pairs:
                known[key] = label if known.get(key, label) == label else None
            return
        row = self._rows.get(one.loader)
        if row is None:
            row = self._rows[one.loader] = self.recorder.note(
                "relabelled", loader=one.loader, place=one.row["place"], num=0, different=0)  # fmt: skip
        if row["num"] >= COMPARED:
            known.clear()
            return
        again = [(known[key], label) for key, label in pairs if known.get(key) is not None]
        row["num"] += len(again)
        row["different"] += sum(before != label for before, label in again)
        row["step"] = self.recorder.step


def pairs_of(tensors: list[Tensor]) -> list[tuple[int, float]]:
    """A print of all that a row is given besides its label, and the label; empty where there is no such label."""
    labels = next((t for t in reversed(tensors) if is_labels(t)), None)
    inputs = [t for t in tensors if t is not labels]
    if labels is None or any(t.ndim == 0 or len(t) != len(labels) or t.device.type != "cpu" for t in inputs):
        return []
    first = next((t for t in inputs if t.ndim >= 2 and t.is_floating_point()), None)
    if first is None or labels.device.type != "cpu" or first[0].numel() < FEWEST_NUMBERS:
        return []
    prints = [prints_of(t.reshape(len(t), -1)) for t in inputs if t.dtype != torch.bool and t.numel()]
    return [(hash(row), float(label)) for row, label in zip(zip(*prints, strict=True), labels.tolist(), strict=True)]
