"""What the model is given: scale, finiteness, and whether targets are inputs; read for a few batches only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torchstone.engines.attach.losses import Losses
from torchstone.engines.attach.models import Models, Root
from torchstone.engines.attach.recorder import Recorder, Row

# Forward passes of a root, with gradients and without, whose inputs are read.
READ = 3
# Words in the names of keyword arguments that are no inputs.
NO_INPUTS = ("label", "target", "mask")


class Inputs:
    """The first floating-point and the first integer tensor of each root's first inputs."""

    def __init__(self, recorder: Recorder, models: Models, losses: Losses) -> None:
        self.recorder = recorder
        self._num: dict[tuple[int, bool], int] = {}
        self.tokens: list[Tensor] = []  # of the last forward pass
        self.lengths: set[int] = set()  # the first lengths of its inputs
        self.series: Tensor | None = None  # its numbers [B, T, F]
        self._waiting: tuple[Row, Tensor] | None = None  # a loss that may have been computed inside of a forward pass
        self.on_targets: list[Callable[[Row, Tensor], None]] = []  # called once the tokens behind targets are known
        models.on_forward.append(self._forward)
        losses.on_row.append(self._compare)

    def _forward(self, root: Root, inputs: tuple[Any, ...], output: Any) -> None:
        self.tokens, self.lengths, self.series = [], set(), None
        key = (root.index, root.has_grad)
        number = self._num[key] = self._num.get(key, 0) + 1
        if number > READ:
            return
        named = [value for name, value in root.named.items() if not any(word in name for word in NO_INPUTS)]
        tensors = [value for value in (*inputs, *named) if isinstance(value, Tensor) and value.ndim]
        self.lengths = {len(value) for value in tensors}
        numbers = (value for value in tensors if value.is_floating_point() and value.numel())
        floats = next((value for value in numbers if not is_mask(value)), None)
        self.tokens = [value for value in tensors if not value.is_floating_point() and value.ndim >= 2]
        self.series = floats if floats is not None and floats.ndim == 3 else None
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._look(*waiting)
        if floats is not None:
            self.recorder.note("input", root=root.index, has_grad=root.has_grad, training=root.training,
                               **describe(floats.detach()))

    def _compare(self, row: Row, input: Tensor, target: Tensor) -> None:
        """Into the row of a loss: whether its targets are the integers that the model was given."""
        if not target.is_floating_point():
            self._look(row, target)
            self._waiting = (row, target)

    def _look(self, row: Row, target: Tensor) -> None:
        # a second argument that is the target itself is no input: the loss is computed inside of forward
        alike = [t for i, t in enumerate(self.tokens)
                 if t.numel() == target.numel() and (i == 0 or t.data_ptr() != target.data_ptr())]
        if alike:
            same = any(torch.equal(target.reshape(-1), t.reshape(-1).to(target.dtype)) for t in alike)
            row["is_input"] = same or row.get("is_input", False)
            for hear in self.on_targets:
                hear(row, target)


def is_mask(values: Tensor) -> bool:
    """Whether these are what is added to attention scores: 0 for what may be seen, minus infinity for the rest."""
    hidden = values == -torch.inf
    return bool(hidden.any()) and bool((hidden | (values == 0)).all())


def describe(values: Tensor) -> dict[str, Any]:
    """Shape, range, mean, standard deviation, and how many values are not finite."""
    values = values.float()
    finite = torch.isfinite(values)
    num_bad = int((~finite).sum())
    kept = values[finite] if num_bad else values
    if not kept.numel():
        return {"shape": list(values.shape), "num_bad": num_bad, "low": None, "high": None, "mean": None, "std": None}
    return {
        "shape": list(values.shape), "num_bad": num_bad, "low": float(kept.min()), "high": float(kept.max()),
        "mean": float(kept.mean()), "std": float(kept.std(unbiased=False)),
    }  # fmt: skip
