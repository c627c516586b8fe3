"""Batches of which the labels are as many as the loader deals out, and the inputs fewer."""

from __future__ import annotations

from typing import Any

from torchstone.engines.attach.loaders import Loaders, Pass, tensors_of
from torchstone.engines.attach.recorder import Recorder, Row

# Batches of a first pass that are looked at, and labels of one from which on it says something.
BATCHES, FEWEST = 3, 4


class Lengths:
    """A row "fewer" for a loader whose first batches hold fewer inputs than labels."""

    def __init__(self, recorder: Recorder, loaders: Loaders) -> None:
        self.recorder = recorder
        self._rows: dict[int, Row] = {}
        loaders.on_batch.append(self._batch)

    def _batch(self, one: Pass, batch: Any) -> None:
        if one.number > 1 or one.row["batches"] > BATCHES:
            return
        seen = fewer_inputs([tuple(t.shape) for t in tensors_of(batch)], [
            t.is_floating_point() for t in tensors_of(batch)], one.row.get("batch_size"))  # fmt: skip
        if seen is None:
            return
        row = self._rows.get(one.loader)
        if row is None:
            row = self._rows[one.loader] = self.recorder.note(
                "fewer", loader=one.loader, place=one.row["place"], batches=0, **seen)  # fmt: skip
        row["batches"] += 1


def fewer_inputs(
    shapes: list[tuple[int, ...]], are_floats: list[bool], batch_size: int | None
) -> dict[str, Any] | None:
    """Shapes of inputs and labels, where labels alone are as many as the batch; None where that is not sure.

    Inputs are the first floats of two axes or more; no axis of anything but the labels is as long as the batch.
    """
    if batch_size is None or batch_size < FEWEST or len(shapes) < 2:
        return None
    labels = shapes[-1]
    is_column = len(labels) == 1 or (len(labels) == 2 and labels[1] == 1)
    first = next((s for s, is_float in zip(shapes[:-1], are_floats, strict=False) if is_float and len(s) >= 2), None)
    if not is_column or labels[0] != batch_size or first is None or first[0] >= batch_size:
        return None
    if any(batch_size in shape for shape in shapes[:-1]):
        return None
    return {"inputs": list(first), "labels": list(labels), "batch_size": batch_size}
