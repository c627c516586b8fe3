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
        self._dataset = dataset
        self._counts = np.zeros(num_rows, dtype=np.int32)
        self._windows: list[int] = []
        self._known: list[tuple[np.ndarray, str]] = []

    def take(self, window: Window) -> None:
        """Counts the examples of one window, as they came in its batches."""
        for batch in window.batches:
            np.add.at(self._counts, batch.rows, 1)
        self._windows.append(window.index)

    def tell(self, strategy: Strategy, epoch: int) -> dict[str, Any] | None:
        """A row for the trace, None where no window came; every rank calls it at the same place.

        digest: SHA-256 of the distinct ids in the order of the data, to be held against those of data.json.
        shared: how many examples came to more than one rank.
        """
        if not self._windows:
            return None
        counts = [part.numpy() for part in strategy.gather(torch.from_numpy(self._counts))]
        num, first, last = len(self._dataset), self._windows[0], self._windows[-1]
        self._counts = np.zeros_like(self._counts)
        self._windows = []
        came = [part > 0 for part in counts]
        times = np.sum(came, axis=0)
        by_split = {split: int((times[:num][self._dataset.split == split] > 0).sum()) for split in SPLITS}
        ranks = [
            {"examples": int(part.sum()), "distinct": int(mask.sum()), "digest": self._digest(mask[:num])}
            for part, mask in zip(counts, came, strict=True)
        ]
        return {
            "epoch": epoch, "windows": [first, last], "examples": sum(int(part.sum()) for part in counts),
            "distinct": int((times > 0).sum()), "by_split": {**by_split, "synthetic": int((times[num:] > 0).sum())},
            "digest": self._digest(times[:num] > 0), "shared": int((times > 1).sum()), "ranks": ranks,
        }  # fmt: skip

    def _digest(self, mask: np.ndarray) -> str:
        """The digest of these examples; as a rule an epoch sees what the one before saw."""
        for known, digest in self._known:
            if bool(np.array_equal(known, mask)):
                return digest
        digest = ids_digest(self._dataset.ids[mask])
        self._known = [*self._known[-1:], (mask, digest)]
        return digest
