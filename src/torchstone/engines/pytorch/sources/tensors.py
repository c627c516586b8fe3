"""Examples that are tensors in memory already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from torchstone.engines.pytorch.batch import Batch


class TensorSource:
    """Batches by index from tensors whose first axis counts the examples.

    inputs: one or more tensors [N, …]; target [N] or [N, K], in the form that the loss wants.
    """

    is_heavy = False
    notes: Sequence[str] = ()

    def __init__(self, inputs: Sequence[Tensor], target: Tensor) -> None:
        lengths = {len(value) for value in (*inputs, target)}
        if len(lengths) != 1:
            raise ValueError(f"inputs and target differ in length: {[len(v) for v in inputs]} and {len(target)}")
        self._inputs, self._target = tuple(inputs), target

    def __len__(self) -> int:
        return len(self._target)

    def batch(self, rows: np.ndarray, epoch: int | None) -> Batch:
        """The examples of `rows`; the same in training and evaluation."""
        index = torch.from_numpy(rows)
        return Batch(
            tuple(value.index_select(0, index) for value in self._inputs), self._target.index_select(0, index), rows
        )
