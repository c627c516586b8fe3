"""Whether a loader in fixed order deals out the same first batch in its second pass."""

from __future__ import annotations

from typing import Any

from torchstone.engines.attach.fingerprints import prints_of
from torchstone.engines.attach.loaders import Loaders, Pass, tensors_of
from torchstone.engines.attach.recorder import Recorder


class Redealt:
    """One row for each loader in sequential order that was passed through twice."""

    def __init__(self, recorder: Recorder, loaders: Loaders) -> None:
        self.recorder = recorder
        self._first: dict[int, list[int]] = {}
        loaders.on_batch.append(self._batch)

    def _batch(self, one: Pass, batch: Any) -> None:
        if one.row["batches"] != 1 or one.number > 2 or one.row.get("order") != "sequential":
            return
        first = next((t for t in tensors_of(batch) if t.ndim >= 2 and t.numel()), None)
        if first is None or first.device.type != "cpu" or not first.is_floating_point():
            return
        prints = prints_of(first)
        if one.number == 1:
            self._first[one.loader] = prints
        elif one.loader in self._first:
            before = self._first.pop(one.loader)
            same = sum(a == b for a, b in zip(before, prints, strict=False))
            self.recorder.note("redealt", loader=one.loader, place=one.row["place"], same=same,
                               num=min(len(before), len(prints)))  # fmt: skip
