"""Windows of a series: rows of numbers that are each the next one moved by one place, and on which side they lie."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from torchstone.engines.attach.loaders import Loaders, Pass, tensors_of
from torchstone.engines.attach.recorder import Recorder, Row

# Rows of a loader that are remembered, places of a row below which it is no window, and above which it is too long.
MOST_ROWS, FEWEST_PLACES, MOST_VALUES = 32_768, 6, 4096
# Different values that a row holds at least: ones of fewer are alike by chance.
FEWEST_VALUES = 5


@dataclass
class Ends:
    """Of each row of a loader its numbers without the last place (heads), and without the first one (tails)."""

    row: Row
    heads: list[int] = field(default_factory=list)
    tails: list[int] = field(default_factory=list)

    def near(self, other: Ends) -> int:
        """How many rows are a row of the other one moved by one place, forwards or backwards."""
        heads, tails = set(other.heads), set(other.tails)
        return sum(head in tails or tail in heads for head, tail in zip(self.heads, self.tails, strict=True))


class Windows:
    """One row "windows" for each loader of rows [T] or [T, F], at the end of its first pass."""

    def __init__(self, recorder: Recorder, loaders: Loaders) -> None:
        self.recorder = recorder
        self._ends: dict[int, Ends] = {}
        loaders.on_batch.append(self._batch)
        loaders.on_pass.append(self._pass)

    def _batch(self, one: Pass, batch: Any) -> None:
        known = self._ends.get(one.loader)
        if one.number > 1 or (known is not None and len(known.heads) >= MOST_ROWS):
            return
        first = next((t for t in tensors_of(batch) if is_windows(t)), None)
        if first is None:
            return
        if known is None:
            row = self.recorder.note("windows", loader=one.loader, place=one.row["place"], num=0, num_sliding=0,
                                     beside={})  # fmt: skip
            known = self._ends[one.loader] = Ends(row)
        values = first.detach()
        for heads, part in ((known.heads, values[:, :-1]), (known.tails, values[:, 1:])):
            heads.extend(hash(row.tobytes()) for row in part.contiguous().numpy())

    def _pass(self, one: Pass) -> None:
        known = self._ends.get(one.loader)
        if one.number > 1 or known is None:
            return
        known.row.update(num=len(known.heads), num_sliding=known.near(known))
        for loader, other in self._ends.items():
            if other is not known and other.row["num"]:
                known.row["beside"][str(loader)] = known.near(other)
                other.row["beside"][str(one.loader)] = other.near(known)


def is_windows(values: Tensor) -> bool:
    """Whether these are rows [N, T] or [N, T, F] of numbers, in memory, that are long enough and vary."""
    if values.ndim not in (2, 3) or not len(values) or values.device.type != "cpu":
        return False
    if values.dtype not in (torch.float32, torch.float64) or values.shape[1] < FEWEST_PLACES:
        return False
    return values[0].numel() <= MOST_VALUES and int(values[0].unique().numel()) >= FEWEST_VALUES  # type: ignore[no-untyped-call]
