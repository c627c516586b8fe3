"""The means that loss functions gave, beside the number from which backward starts: what came in between."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from torchstone.engines.attach.backward import Backwards
from torchstone.engines.attach.losses import Losses
from torchstone.engines.attach.optimizers import Optimizers
from torchstone.engines.attach.recorder import Recorder
from torchstone.engines.attach.wheels import Wheel


class Divisors:
    """Lays into each step's row the last mean in training, and what a loss holds beside it that has no graph."""

    def __init__(self, recorder: Recorder, losses: Losses, backwards: Backwards, optimizers: Optimizers) -> None:
        self.recorder = recorder
        self._means: dict[str, Tensor] = {}  # by the name of the node, since the last step
        self._last: Tensor | None = None
        self._loose: Tensor | None = None
        losses.on_call.append(self._call)
        backwards.on_backward.append(self._backward)
        optimizers.on_step.append(self._step)

    def _call(self, name: str, input: Tensor, target: Tensor, result: Tensor) -> None:
        if result.grad_fn is not None and getattr(result, "_is_mean_of", None):
            self._last = self._means[result.grad_fn.name()] = result.detach()

    def _backward(self, loss: Tensor) -> None:
        """A loss that is one of the means plus something of which no graph was kept."""
        node = loss.grad_fn
        if node is None or node.name() != "AddBackward0" or loss.numel() != 1:
            return
        parts = [part for part, _ in node.next_functions]
        mean = next((self._means.get(part.name()) for part in parts if part is not None), None)
        if len(parts) == 2 and parts.count(None) == 1 and mean is not None:
            self._loose = loss.detach() - mean

    def _step(self, wheel: Wheel, row: dict[str, Any]) -> None:
        last, loose, self._last, self._loose = self._last, self._loose, None, None
        self._means.clear()
        if last is not None and wheel.accumulated > 1:
            self.recorder.later(row, "mean_loss", last)
        if loose is not None:
            self.recorder.later(row, "loose", loose)
