"""What the checks before a run are made with: one batch, and how it gets through a loop.

Legend of axes: B examples of a batch, K outputs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from torchstone.engines.attach.asking import undisturbed
from torchstone.engines.attach.loaders import tensors_of
from torchstone.engines.pytorch.freezing import modes_kept

# A row of what was measured: docs/preflight.md lists the events and their keys.
Row = dict[str, Any]
# (a model, what it is called with) → its output; (output, target) → the mean loss, a tensor of no axis.
Forward = Callable[[nn.Module, Any], Any]
MeanLoss = Callable[[Any, Any], Tensor]


@dataclass(frozen=True)
class Bench:
    """One batch of training, and all that it meets.

    forward: under the run's autocast; plain_forward: without. to_train: puts a model (this one, or its copy) into the
    modes of training. small: inputs and target of a few different examples without augmentation, None where there are
    not two. kind: classes, labels or numbers; None where the shapes do not tell. is_fresh: the weights are random, so
    that the first loss can be foretold. takes_scores: one output per class, label or number.
    """

    model: nn.Module
    inputs: Any
    target: Any
    forward: Forward
    plain_forward: Forward
    loss: MeanLoss
    to_train: Callable[[nn.Module], None]
    small: tuple[Any, Any] | None
    kind: str | None
    optimizer: torch.optim.Optimizer | None = None
    is_fresh: bool = True
    takes_scores: bool = True


@contextlib.contextmanager
def untouched(model: nn.Module) -> Iterator[None]:
    """Buffers, gradients, modes and all global generators are after the block what they were; inside, no gradients.

    Weights and optimizer are not protected: no check steps.
    """
    buffers = [(module, name, value) for module in model.modules() for name, value in module._buffers.items()]
    gradients = [(parameter, parameter.grad) for parameter in model.parameters()]
    try:
        with undisturbed(model), modes_kept(model):
            for parameter, _ in gradients:
                parameter.grad = None
            yield
    finally:
        for module, name, value in buffers:
            module._buffers[name] = value
        for parameter, gradient in gradients:
            parameter.grad = gradient


def scores_of(output: Any) -> Tensor | None:
    """The tensor of a model's output that a loss is made from: itself, `.logits`, or the first of several."""
    if isinstance(output, Tensor):
        return output
    logits = getattr(output, "logits", None)
    if isinstance(logits, Tensor):
        return logits
    members = output.values() if isinstance(output, Mapping) else output if isinstance(output, (list, tuple)) else ()
    return next((found for member in members if (found := scores_of(member)) is not None), None)


def mapped(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same lists, tuples and mappings with each tensor changed; other values stay."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, Mapping):
        return {key: mapped(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(mapped(item, change) for item in value)
    return value


def described(value: Any) -> str:
    """`float32 [64, 3, 32, 32] + int64 [64, 5]`."""
    shapes = [f"{str(t.dtype).removeprefix('torch.')} {list(t.shape)}" for t in tensors_of(value)]
    return " + ".join(shapes) or type(value).__name__


def num_bad(value: Any) -> int:
    """How many numbers are NaN or infinite."""
    return sum(int((~t.isfinite()).sum()) for t in tensors_of(value) if t.is_floating_point())


def kind_of(scores: Tensor | None, target: Any) -> str | None:
    """What a target says beside a model's outputs: classes, labels (several yes or no), numbers; None: unknown."""
    if scores is None or not isinstance(target, Tensor) or not scores.is_floating_point() or not target.numel():
        return None
    if not target.is_floating_point():
        return "classes" if class_axis(scores, target) is not None else None
    if scores.shape != target.shape and scores.numel() != target.numel():
        return None
    low, high = float(target.min()), float(target.max())
    is_share = low >= 0 and high <= 1
    if is_share and target.ndim > 1 and target.shape == scores.shape and scores.shape[1] > 1:
        sums = target.float().sum(1)
        if bool(torch.isclose(sums, torch.ones_like(sums), atol=1e-3).all()):
            return "classes"
    is_yes_or_no = is_share and bool(((target == 0) | (target == 1)).all())
    return "labels" if is_yes_or_no else "numbers"


def class_axis(scores: Tensor, target: Tensor) -> int | None:
    """The axis of the scores that counts classes; None where no axis can."""
    if target.shape == scores.shape and target.is_floating_point() and scores.ndim > 1:
        return 1
    if scores.ndim != target.ndim + 1:
        return None
    if scores.shape[0] == target.shape[0] and scores.shape[2:] == target.shape[1:] and scores.shape[1] > 1:
        return 1
    return scores.ndim - 1 if scores.shape[:-1] == target.shape and scores.shape[-1] > 1 else None
