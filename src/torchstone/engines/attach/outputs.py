"""What the model gives back: outputs that are kept with their graphs, and losses that were written by hand."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from torchstone.engines.attach.backward import Backwards, Graphs
from torchstone.engines.attach.models import Models, Root
from torchstone.engines.attach.optimizers import Optimizers
from torchstone.engines.attach.recorder import Recorder, safely
from torchstone.engines.attach.wheels import Wheel

# Backward passes whose graphs are read.
READ = 4
_DEEPEST = 6
_POWERS = ("Pow", "Abs", "Mul")


class Outputs:
    """Follows the outputs of each root's forward passes, and reads how the first losses were put together."""

    def __init__(self, recorder: Recorder, models: Models, backwards: Backwards, optimizers: Optimizers) -> None:
        self.recorder, self._backwards = recorder, backwards
        self._graphs = Graphs()
        self._shape: list[int] | None = None
        self._read = 0
        models.on_forward.append(self._forward)
        backwards.on_backward.append(self._backward)
        optimizers.on_step.append(self._step)

    def _forward(self, root: Root, inputs: tuple[Any, ...], output: Any) -> None:
        if not self.recorder.is_awake:
            return
        first = next((value for value in _members(output) if isinstance(value, Tensor)), None)
        if first is None or first.grad_fn is None or not root.has_grad:
            return
        self._shape = list(first.shape)
        self._graphs.follow(first.grad_fn, self._backwards.total)

    def _step(self, wheel: Wheel, row: dict[str, Any]) -> None:
        row["outputs_alive"] = self._graphs.alive(self._backwards.total)

    @safely
    def _backward(self, loss: Tensor) -> None:
        if self._read >= READ or self._shape is None:
            return
        self._read += 1
        shape = squared_difference(loss)
        if shape is not None:
            self.recorder.note("hand_loss", shape=shape, output_shape=self._shape,
                               place=self.recorder.place("hand loss"))  # fmt: skip


def squared_difference(loss: Tensor) -> list[int] | None:
    """The shape of a - b where a loss is the mean of (a - b)^2 or of |a - b|, written out; None where it is not."""
    node: Any = loss.grad_fn
    for _ in range(_DEEPEST):
        if node is None:
            return None
        if node.name().startswith(("Mean", "Sum")):
            break
        node = node.next_functions[0][0] if node.next_functions else None
    else:
        return None
    sizes = getattr(node, "_saved_self_sym_sizes", None)
    power = node.next_functions[0][0] if node.next_functions else None
    if sizes is None or power is None or not power.name().startswith(_POWERS):
        return None
    inner = power.next_functions[0][0] if power.next_functions else None
    return [int(size) for size in sizes] if inner is not None and inner.name().startswith("Sub") else None


def _members(output: Any) -> list[Any]:
    if isinstance(output, (list, tuple)):
        return list(output)
    return list(output.values()) if hasattr(output, "values") and not isinstance(output, Tensor) else [output]
