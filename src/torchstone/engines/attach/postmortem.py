"""A loss or gradient that is not finite, in a loop that is not ours: where it was born, seen before the graph is gone.

Nothing is run again. On a CPU each loss is looked at as its backward pass begins; on other devices a look would make
the loop wait, so that only what the next graph shows is told.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torchstone.engines.attach.backward import Backwards
from torchstone.engines.attach.losses import Losses
from torchstone.engines.attach.models import Models, Root
from torchstone.engines.attach.optimizers import Optimizers, parameters_of
from torchstone.engines.attach.recorder import Recorder, Row, safely
from torchstone.engines.attach.wheels import Wheel
from torchstone.engines.pytorch.postmortem.saved import read_backward, read_forward
from torchstone.engines.pytorch.postmortem.values import is_bad

# Rows that are written at most; later ones are counted in the last.
MOST = 3
# Values of the first gradient that are looked at after each backward pass.
SLICE = 1024


class PostMortem:
    """Writes a row `non_finite` for the first losses and gradients that are not finite."""

    def __init__(
        self, recorder: Recorder, models: Models, optimizers: Optimizers, backwards: Backwards, losses: Losses
    ) -> None:
        self.recorder, self._models, self._optimizers = recorder, models, optimizers
        self._rows: list[Row] = []
        self._unused: Row | None = None  # of a loss that no backward pass has used yet
        self._open: Row | None = None  # of a backward pass whose step has not come yet
        self._ends: dict[int, int] = {}  # root → number of the node at which its forward pass ended
        self._is_finite = True
        self.on_note: list[Callable[[Row], None]] = []
        backwards.on_every_backward.append(self._glance)
        backwards.after_backward.append(self._after)
        losses.on_call.append(self._called)
        models.on_forward.append(self._forward)
        optimizers.on_step.append(self._stepped)

    def _forward(self, root: Root, inputs: tuple[Any, ...], output: Any) -> None:
        if not root.has_grad:
            return
        node = getattr(output, "grad_fn", None)
        if node is not None:
            self._ends[root.index] = int(node._sequence_nr())
        if self._unused is not None:
            self._unused["num_skipped"] = self._unused.get("num_skipped", 0) + 1
            self._unused = None

    def _called(self, name: str, input: Tensor, target: Tensor, result: Tensor) -> None:
        """A loss of torch's own, as it is computed: it may never reach a backward pass."""
        if result.numel() == 1 and result.grad_fn is not None and not _is_finite(result):
            self._unused = self._write(result, "loss")

    def _glance(self, loss: Tensor) -> None:
        """Each loss, also while the recorder sleeps."""
        if self._rows or loss.numel() != 1 or (loss.is_cpu and not math.isfinite(loss.item())):
            self._before(loss)
        else:
            self._is_finite = True

    @safely
    def _before(self, loss: Tensor) -> None:
        raw = getattr(loss, "_unscaled_loss", loss)  # see scalers.py
        self._is_finite = loss.numel() != 1 or _is_finite(raw)
        if self._is_finite:
            self._unused = None
            for row in self._rows:
                row["in_a_row"] = 0
            return
        row, self._unused = self._unused or self._write(loss, "loss"), None
        row["is_scaled"] = raw is not loss
        row["num_used"] = row.get("num_used", 0) + 1
        row["in_a_row"] = row.get("in_a_row", 0) + 1
        row["most_in_a_row"] = max(row.get("most_in_a_row", 0), row["in_a_row"])
        self._open = row

    @safely
    def _after(self, loss: Tensor) -> None:
        """The first gradients of each optimizer, which the whole backward pass has gone through."""
        if not self.recorder.is_awake or not self._is_finite or hasattr(loss, "_unscaled_loss"):
            return
        if len(self._rows) >= MOST or not any(_is_first_bad(wheel) for wheel in self._optimizers.wheels()):
            return
        bad = {id(p) for wheel in self._optimizers.wheels() for p in _held(wheel) if _has_bad_gradient(p)}
        told = read_backward(loss.grad_fn, self._models.names(), bad) if loss.grad_fn is not None else {}
        self._open = self._note("gradient", float(loss.detach()) if loss.numel() == 1 else None, told)
        self._open["num_used"] = 1

    def _write(self, loss: Tensor, problem: str) -> Row:
        """A new row; the last one where there are enough, or where the loss was bad the time before, too."""
        if self._rows and (len(self._rows) >= MOST or self._rows[-1].get("in_a_row")):
            return self._rows[-1]
        names = self._models.names()
        last = self._models.last
        told: dict[str, Any] = {"phase": None}
        if loss.grad_fn is not None:
            end = None if last is None else self._ends.get(last.index)
            told = read_forward(loss.grad_fn, names, last_of_model=end)
            if told["weights"]["num_bad"]:
                told |= self._from_weights(loss, names)
        return self._note(problem, float(getattr(loss, "_unscaled_loss", loss).detach()), told)

    def _from_weights(self, loss: Tensor, names: dict[int, str]) -> dict[str, Any]:
        """The weights are spoilt already, by gradients of an earlier pass through the same graph."""
        bad = {id(p) for wheel in self._optimizers.wheels() for p in _held(wheel) if is_bad(p.detach())}
        if not bad or any(row["problem"] == "gradient" for row in self._rows):
            return {}
        return read_backward(loss.grad_fn, names, bad)

    def _note(self, problem: str, value: float | None, told: dict[str, Any]) -> Row:
        self.recorder.alarm(is_certain=True)
        if isinstance(told.get("layer"), str) and "class" not in told:
            told["class"] = self._class_of(told["layer"])
        place = self.recorder.place("non-finite")
        row = self.recorder.note("non_finite", problem=problem, value=value, place=place,
                                 **{**told, "step": self.recorder.step + 1})
        self._rows.append(row)
        for listener in self.on_note:
            listener(row)
        return row

    def _class_of(self, layer: str) -> str | None:
        for root in self._models.roots:
            module = root.ref()
            part = None if module is None else dict(module.named_modules()).get(layer)
            if part is not None:
                return type(part).__name__
        return None

    def _stepped(self, wheel: Wheel, row: Row) -> None:
        """Whether the step that follows has spoilt the weights."""
        if self._open is None:
            return
        optimizer, seen, self._open = wheel.ref(), self._open, None
        if optimizer is not None:
            seen["is_spoilt"] = any(is_bad(p.detach()) for p in parameters_of(optimizer))


def _held(wheel: Wheel) -> list[Tensor]:
    optimizer = wheel.ref()
    return [] if optimizer is None else [p for p in parameters_of(optimizer) if p.requires_grad]


def _is_finite(loss: Tensor) -> bool:
    """Whether a loss of one number is finite; True where asking would make the loop wait."""
    return not loss.is_cpu or math.isfinite(loss.item())


def _is_first_bad(wheel: Wheel) -> bool:
    """Whether the gradient of an optimizer's first parameter is bad, as far as it is looked at."""
    optimizer = wheel.ref()
    groups = () if optimizer is None else optimizer.param_groups
    grad = next((p.grad for group in groups for p in group["params"] if p.grad is not None), None)
    if grad is None or grad.device.type != "cpu" or grad.is_sparse:
        return False
    rows = grad if grad.numel() <= SLICE else grad[: max(1, SLICE * len(grad) // grad.numel())]
    return not math.isfinite(rows.sum().item())


def _has_bad_gradient(parameter: Tensor) -> bool:
    grad = parameter.grad
    return grad is not None and not grad.is_sparse and bool((~torch.isfinite(grad)).any())
