"""Optimizers that are built and never step, rates that are set where nobody reads them, gradients that stay zero."""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch import Tensor, nn

from torchstone.engines.attach.models import Models
from torchstone.engines.attach.optimizers import Optimizers, parameters_of, rates_of
from torchstone.engines.attach.recorder import Recorder, Row
from torchstone.engines.attach.wheels import Wheel

# Steps of all optimizers between two looks at those that have not stepped.
LOOK_EVERY, LOOKS = 10, 20
# Every so many steps of an optimizer, and so often, it is asked which gradients are not zero.
ZEROS_EVERY, SAMPLES = 3, 5
NAMES = ("lr", "learning_rate")


class Bystanders:
    """Looks after optimizer steps; what it finds stands in the optimizers' own rows."""

    def __init__(self, recorder: Recorder, models: Models, optimizers: Optimizers) -> None:
        self.recorder, self._models, self._optimizers = recorder, models, optimizers
        self._still: dict[int, tuple[list[Tensor], int]] = {}  # only zeros so far, samples
        self._strangers: weakref.WeakKeyDictionary[nn.Module, Row] = weakref.WeakKeyDictionary()
        optimizers.on_step.append(self._step)

    def _step(self, wheel: Wheel, row: dict[str, Any]) -> None:
        step = self.recorder.step
        if step % LOOK_EVERY == 0 and step <= LOOK_EVERY * LOOKS:
            self._look_at_idle()
            self._look_at_strangers()
        if wheel.steps in (2, 5, 20, 60):
            self._look_at_names(wheel)
        if wheel.steps % ZEROS_EVERY == 2 and wheel.steps <= ZEROS_EVERY * SAMPLES:
            self._look_at_zeros(wheel)

    def _look_at_idle(self) -> None:
        wheels = [(wheel, optimizer) for wheel in self._optimizers.wheels() if (optimizer := wheel.ref()) is not None]
        moved = {id(p) for wheel, optimizer in wheels if wheel.steps for p in parameters_of(optimizer)}
        for wheel, optimizer in wheels:
            own = parameters_of(optimizer)
            if wheel.steps == 0 and any(p.grad is not None for p in own) and not any(id(p) in moved for p in own):
                wheel.row["idle_looks"] = wheel.row.get("idle_looks", 0) + 1
            elif wheel.steps:
                wheel.row["idle_looks"] = 0

    def _look_at_strangers(self) -> None:
        """A row for each model in train mode that gets gradients, and of which no optimizer holds a part."""
        for module in self._models.outermost():
            own = [p for p in module.parameters() if p.requires_grad]
            if module.training and own and not any(id(p) in self._optimizers.owner for p in own):
                if all(p.grad is None for p in own):
                    continue
                row = self._strangers.get(module)
                if row is None:
                    row = self._strangers[module] = self.recorder.note(
                        "stranger", looks=0, num=len(own), weights=sum(p.numel() for p in own),
                        **{"class": type(module).__name__})
                row["looks"] += 1

    def _look_at_names(self, wheel: Wheel) -> None:
        """A rate that was set on the object of one of torch's own optimizers and differs from what its groups hold."""
        optimizer = wheel.ref()
        if optimizer is None or not type(optimizer).__module__.startswith("torch.optim"):
            return
        rates = rates_of(optimizer)
        for name in NAMES:
            value = vars(optimizer).get(name)
            if isinstance(value, float) and all(abs(value - rate) > 1e-9 for rate in rates):
                wheel.row["misspelt_rate"] = {"name": name, "value": value, "rates": rates[:4]}

    @torch.no_grad()
    def _look_at_zeros(self, wheel: Wheel) -> None:
        """Into the optimizer's row: parameters whose gradients were exactly zero at each of the samples."""
        optimizer = wheel.ref()
        if optimizer is None:
            return
        known = self._still.get(wheel.index)
        if known is None:
            known = [p for p in parameters_of(optimizer) if p.requires_grad and p.grad is not None], 0
        still, samples = known
        grads = [p.grad for p in still]
        if any(g is None or g.is_sparse or hasattr(g, "to_local") for g in grads) or (samples == 0 and not still):
            return
        is_moved = any_not_zero([g for g in grads if g is not None])
        still = [p for p, moved in zip(still, is_moved, strict=True) if not moved]
        self._still[wheel.index] = still, samples + 1
        if samples + 1 >= SAMPLES:
            names = self._models.names()
            wheel.row["zeros"] = [names.get(id(p), "?") for p in still][:20]
            wheel.row["zero_weights"] = sum(p.numel() for p in still)


def any_not_zero(tensors: list[Tensor]) -> list[bool]:
    """For each tensor whether it holds anything but zeros.

    The sum of squares tells it for nearly all, eight times faster than the largest value, which is asked where that
    sum is 0: squares of numbers below 1e-23 vanish in single precision.
    """
    if not tensors:
        return []
    norms = torch.stack([norm.float() for norm in torch._foreach_norm(tensors)]).tolist()
    return [norm != 0 or bool(tensor.abs().max() != 0) for norm, tensor in zip(norms, tensors, strict=True)]
