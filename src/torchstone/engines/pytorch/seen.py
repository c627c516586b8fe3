"""Which examples a model was trained on: counted from the batches themselves, told by digests, rank by rank.

The feed says what is to be dealt out; this is what came. Counting starts anew with each epoch and each checkpoint, so
that a run that is cut off and resumed tells each window once: the trace is cut back to the same checkpoint.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from torchstone.core.dataset import SPLITS, Dataset, ids_digest
from torchstone.engines.pytorch.feed import Window
from torchstone.engines.pytorch.strategies import Strategy


class Seen:
    """Counts the rows of the windows that this rank has trained on since it last told.

    num_rows: rows of the training source; those behind the data's own are synthetic.
    """

    def __init__(self, dataset: Dataset, num_rows: int) -> None:
        self._ids = dataset.ids
        self._splits = {split: dataset.split == split for split in SPLITS}
        self._counts = np.zeros(num_rows, dtype=np.int32)
        self._windows: list[int] = []
        self._last: tuple[np.ndarray, str] | None = None

    def take(self, window: Window) -> None:
        """Counts the examples of one window, as they came in its batches."""
        for batch in window.batches:
            np.add.at(self._counts, batch.rows, 1)
        self._windows.append(window.index)

    def tell(self, strategy: Strategy, epoch: int) -> dict[str, Any] | None:
        """A row for the trace on rank 0, None on others and where no window came; all ranks call it at the same place.

        windows: the first and the last of the epoch that are counted. distinct: different examples, synthetic ones too.
        by_split: different examples of each split of the data. shared: how many came to more than one rank.
        digest: SHA-256 of the different ids in the order of the data, to be held against those of data.json.
        """
        if not self._windows:
            return None
        counts = [part.numpy() for part in strategy.gather(torch.from_numpy(self._counts))]
        first, last = self._windows[0], self._windows[-1]
        self._counts = np.zeros_like(self._counts)
        self._windows = []
        if strategy.rank:
            return None
        times = np.sum([part > 0 for part in counts], axis=0)
        num = len(self._ids)
        by_split = {str(split): _count(times[:num][mask]) for split, mask in self._splits.items()}
        by_split["synthetic"] = _count(times[num:])
        return {
            "epoch": epoch, "windows": [first, last], "examples": sum(int(part.sum()) for part in counts),
            "distinct": _count(times), "by_split": by_split, "digest": self._digest(times[:num] > 0),
            "shared": _count(times > 1), "ranks": [self._rank(part) for part in counts],
        }  # fmt: skip

    def _rank(self, counts: np.ndarray) -> dict[str, Any]:
        came = counts > 0
        digest = self._digest(came[: len(self._ids)])
        return {"examples": int(counts.sum()), "distinct": int(came.sum()), "digest": digest}

    def _digest(self, mask: np.ndarray) -> str:
        """The digest of these examples; as a rule an epoch sees what the one before saw, and one rank sees it all."""
        if self._last is None or not bool(np.array_equal(self._last[0], mask)):
            self._last = (mask, ids_digest(self._ids[mask]))
        return self._last[1]


def _count(values: np.ndarray) -> int:
    return int(np.count_nonzero(values))
