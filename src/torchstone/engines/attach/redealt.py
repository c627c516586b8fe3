"""Whether a loader deals out the same first batch in its next passes: in fixed order it should, in random order not."""

from __future__ import annotations

from typing import Any

from torchstone.engines.attach.fingerprints import prints_of
from torchstone.engines.attach.loaders import Loaders, Pass, tensors_of
from torchstone.engines.attach.recorder import Recorder, Row

# Passes of a loader in random order whose first batches are compared.
PASSES = 4


class Redealt:
    """One row for each loader in sequential order that was passed through twice, or in random order three times."""

    def __init__(self, recorder: Recorder, loaders: Loaders) -> None:
        self.recorder = recorder
        self._first: dict[int, list[int]] = {}
        self._rows: dict[int, Row] = {}
        loaders.on_batch.append(self._batch)

    def _batch(self, one: Pass, batch: Any) -> None:
        order = one.row.get("order")
        most = {"sequential": 2, "random": PASSES}.get(str(order), 0)
        if one.row["batches"] != 1 or one.number > most:
            return
        first = next((t for t in tensors_of(batch) if t.ndim >= 2 and t.numel()), None)
        if first is None or first.device.type != "cpu" or (order == "sequential" and not first.is_floating_point()):
            return
        prints = prints_of(first)
        if one.number == 1:
            self._first[one.loader] = prints
        elif one.loader not in self._first:
            return
        elif order == "random":
            self._compare_order(one, prints)
        else:
            before = self._first.pop(one.loader)
            same = sum(a == b for a, b in zip(before, prints, strict=False))
            self.recorder.note("redealt", loader=one.loader, place=one.row["place"], same=same,
                               num=min(len(before), len(prints)))  # fmt: skip

    def _compare_order(self, one: Pass, prints: list[int]) -> None:
        """How many passes began with the very batch of the first one, row for row."""
        row = self._rows.get(one.loader)
        if row is None:
            row = self._rows[one.loader] = self.recorder.note(
                "order", loader=one.loader, place=one.row["place"], num=len(set(prints)), again=0, same=0, steps=[],
            )  # fmt: skip
        row["again"] += 1
        row["same"] += prints == self._first[one.loader]
        row["steps"].append(self.recorder.step)
