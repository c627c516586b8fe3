"""What the model is given: scale, finiteness, and whether targets are inputs; read for a few batches only."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torchstone.engines.attach.losses import Losses
from torchstone.engines.attach.models import Models, Root
from torchstone.engines.attach.recorder import Recorder, Row

# Forward passes of a root, with gradients and without, whose inputs are read.
READ = 3


class Inputs:
    """The first floating-point and the first integer tensor of each root's first inputs."""

    def __init__(self, recorder: Recorder, models: Models, losses: Losses) -> None:
        self.recorder = recorder
        self._num: dict[tuple[int, bool], int] = {}
        self._tokens: Tensor | None = None
        models.on_forward.append(self._forward)
        losses.on_row.append(self._compare)

    def _forward(self, root: Root, inputs: tuple[Any, ...], output: Any) -> None:
        self._tokens = None
        key = (root.index, root.has_grad)
        number = self._num[key] = self._num.get(key, 0) + 1
        if number > READ:
            return
        tensors = [value for value in inputs if isinstance(value, Tensor)]
        floats = next((value for value in tensors if value.is_floating_point() and value.numel()), None)
        self._tokens = next((value for value in tensors if not value.is_floating_point() and value.ndim >= 2), None)
        if floats is not None:
            self.recorder.note("input", root=root.index, has_grad=root.has_grad, training=root.training,
                               **describe(floats.detach()))

    def _compare(self, row: Row, input: Tensor, target: Tensor) -> None:
        """Into the row of a loss: whether its targets are the integers that the model was given."""
        tokens = self._tokens
        if tokens is not None and not target.is_floating_point() and target.numel() == tokens.numel():
            row["is_input"] = bool(torch.equal(target.reshape(-1), tokens.reshape(-1).to(target.dtype)))


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
