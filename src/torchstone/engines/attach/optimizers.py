"""Optimizer steps: were there gradients, were the old ones cleared, how far did the weights move."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from torchstone.engines.attach.models import Models
from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder, safely
from torchstone.engines.attach.wheels import Wheel

# Steps of an optimizer at which every gradient is looked at; later each 16th.
ALL_FIRST, ALL_EVERY = 64, 16
# Every so many steps the norm of gradients is taken, and that of weights, which moves slowly and costs as much.
NORMS_EVERY, WEIGHTS_EVERY = 10, 50
# Weights of the largest tensor whose movement stands for the update-to-weight ratio.
SLICE = 4096
# Root mean square below which weights count as not yet begun.
TINY = 1e-4


class Optimizers:
    """Every optimizer that is built or steps while the recorder is on."""

    def __init__(self, recorder: Recorder, models: Models) -> None:
        self.recorder, self._models = recorder, models
        self._wheels: weakref.WeakKeyDictionary[Optimizer, Wheel] = weakref.WeakKeyDictionary()
        self._number = itertools.count()
        self.owner: dict[int, Wheel] = {}  # id of a parameter → its optimizer
        self._known: dict[int, Wheel] = {}  # id of an optimizer → its wheel, which may be that of a dead one
        recorder.on_wake.append(self._wake)
        recorder.on_sleep.append(self._unhook)
        self.on_step: list[Callable[[Wheel, dict[str, Any]], None]] = []

    def attach(self, patches: Patches) -> None:
        """Hooks every optimizer's step, and sees each one that is built."""
        patches.keep(register_optimizer_step_pre_hook(self._before))
        patches.keep(register_optimizer_step_post_hook(self._after))
        patches.replace(Optimizer, "__init__", self._built)
        patches.at_end(self._unhook)

    def _unhook(self) -> None:
        for wheel in self._wheels.values():
            wheel.unfollow()

    def wheels(self) -> list[Wheel]:
        """All optimizers that still live, in the order in which they were seen."""
        return sorted(self._wheels.values(), key=lambda wheel: wheel.index)

    def wheel(self, optimizer: Optimizer) -> Wheel:
        """What is known of an optimizer; from its first sight on its row is in the trace."""
        optimizer = innermost(optimizer)
        known = self._wheels.get(optimizer)
        if known is None:
            known = Wheel(next(self._number), type(optimizer).__name__, weakref.ref(optimizer))
            self._wheels[optimizer] = self._known[id(optimizer)] = known
            place = self.recorder.place(f"optimizer {known.index}")
            known.row = self.recorder.note("optimizer", place=place, **describe(optimizer, known.index))
            self.owner.update((id(parameter), known) for parameter in parameters_of(optimizer))
            self._models.find(parameters_of(optimizer), is_new=True)
        return known

    def _built(self, original: Callable[..., None]) -> Callable[..., None]:
        def __init__(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            self._see_new(optimizer)

        return __init__

    @safely
    def _see_new(self, optimizer: Optimizer) -> None:
        self.recorder.place(f"optimizer {len(self._wheels)}")
        self.wheel(optimizer)

    def _before(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.recorder.is_awake:
            self._slice(optimizer)

    @safely
    def _slice(self, optimizer: Optimizer) -> None:
        """A copy of a part of the largest weight, to see how far the step moves it."""
        wheel = self.wheel(optimizer)
        if wheel.steps % NORMS_EVERY == 0:
            wheel.before = part_of_largest([p for p in parameters_of(optimizer) if p.requires_grad])

    def _after(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        recorder = self.recorder
        wheel = None if recorder.is_awake or not recorder.is_on else self._known.get(id(optimizer))
        if wheel is not None and wheel.steps and wheel.ref() is optimizer:
            self._glance(wheel)
        else:
            self._see(optimizer, args, kwargs)

    def _glance(self, wheel: Wheel) -> None:
        """A step that is slept through: counted, and whether its gradient is suddenly an old one, or none."""
        recorder = self.recorder
        try:
            wheel.steps += 1
            recorder.step += 1
            if wheel.end_step():
                recorder.alarm()
            if recorder.step >= recorder.wakes_at:
                recorder.sleep_on()
        except Exception as error:
            recorder.blame("Optimizers._glance", error)

    @safely
    def _see(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        recorder, wheel = self.recorder, self.wheel(optimizer)
        wheel.steps += 1
        recorder.step += 1
        if wheel.steps == 1:
            recorder.wake()
        if not recorder.is_awake:
            wheel.before = None
            return recorder.sleep_on()
        row: dict[str, Any] = {
            "event": "step", "step": recorder.step, "optimizer": wheel.index, "own_step": wheel.steps,
            "lr": rates_of(optimizer)[0],
            "has_closure": any(callable(value) for value in (*args, *kwargs.values())),
            "accumulated": wheel.accumulated if wheel.sentinel is not None else None,
            "num_dropped": wheel.num_dropped, "is_cleared": wheel.is_cleared, "is_stale": wheel.is_stale,
            "clip": wheel.clip, "is_clipped_scaled": wheel.is_clipped_scaled, "skipped": None,
        }  # fmt: skip
        if wheel.steps <= ALL_FIRST or wheel.steps % ALL_EVERY == 0:
            self._look_at_gradients(optimizer, wheel, row)
        self._norms(optimizer, wheel, row)
        for listener in self.on_step:
            listener(wheel, row)
        wheel.accumulated, wheel.is_cleared, wheel.clip, wheel.is_clipped_scaled = 0, None, None, None
        wheel.num_dropped = 0
        wheel.end_step()
        recorder.place(f"step {wheel.index}")
        recorder.note_step(row)
        return None

    def _wake(self) -> None:
        """Follows gradients again, of which it knows nothing from before."""
        for wheel in self._wheels.values():
            wheel.forget()
            wheel.follow(self.recorder)

    def _look_at_gradients(self, optimizer: Optimizer, wheel: Wheel, row: dict[str, Any]) -> None:
        parameters = parameters_of(optimizer)
        trained = [p for p in parameters if p.requires_grad]
        given = [p for p in trained if p.grad is not None]
        row["num_trained"], row["num_grads"] = len(trained), len(given)
        for parameter in parameters:
            self.owner.setdefault(id(parameter), wheel)
        wheel.ever.update(map(id, given))
        if wheel.sentinel is None and given:
            wheel.sentinel = min(given, key=lambda parameter: parameter.numel())
            wheel.follow(self.recorder)
        self._models.find(parameters)
        self._models.note_unowned(self.owner)
        if wheel.steps % 5 == 0:
            self.note_silent(wheel, trained)

    def note_silent(self, wheel: Wheel, trained: list[Tensor]) -> None:
        """Into the optimizer's row: which of its parameters never had a gradient, which belong to no model."""
        names = self._models.names()
        silent = [names.get(id(p), "?") for p in trained if id(p) not in wheel.ever]
        wheel.row["silent"], wheel.row["num_silent"] = silent[:20], len(silent)
        wheel.row["silent_weights"] = sum(p.numel() for p in trained if id(p) not in wheel.ever)
        wheel.row["weights"] = sum(p.numel() for p in trained)
        strangers = [p for p in trained if id(p) not in names and id(p) not in wheel.ever] if names else []
        wheel.row["num_strangers"], wheel.row["own_steps"] = len(strangers), wheel.steps

    @torch.no_grad()
    def _norms(self, optimizer: Optimizer, wheel: Wheel, row: dict[str, Any]) -> None:
        if wheel.before is None:
            return
        recorder, (largest, old) = self.recorder, wheel.before
        wheel.before, ratio = None, update_ratio(largest, old)
        if ratio is None:
            return
        recorder.later(row, "part_moved", first_values(largest).ne(old).float().mean())
        recorder.later(row, "update_ratio", ratio)
        parameters = [p for p in parameters_of(optimizer) if p.requires_grad]
        grads = [p.grad for p in parameters if p.grad is not None and not p.grad.is_sparse]
        if grads:
            recorder.later(row, "grad_norm", norm_of(grads))
        if parameters and wheel.steps % WEIGHTS_EVERY == 1:
            recorder.later(row, "weight_norm", norm_of([p.detach() for p in parameters]))


def parameters_of(optimizer: Optimizer) -> list[Tensor]:
    """All that an optimizer holds, in the order of its groups."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def rates_of(optimizer: Optimizer) -> list[float]:
    """The learning rate of each group."""
    return [float(group.get("lr", 0.0)) for group in optimizer.param_groups]


def part_of_largest(tensors: Iterable[Tensor]) -> tuple[Tensor, Tensor] | None:
    """The largest tensor and a copy of its first values; None where there is none."""
    largest = max(tensors, key=lambda tensor: tensor.numel(), default=None)
    return None if largest is None else (largest, first_values(largest).clone())


def first_values(tensor: Tensor) -> Tensor:
    """Up to SLICE values of a tensor, as they lie there now: some optimizers put new numbers into a parameter."""
    return tensor.detach().reshape(-1)[:SLICE]


def update_ratio(tensor: Tensor, before: Tensor) -> Tensor | None:
    """How far the first values of a tensor were moved, as a share of their size; NaN while they are about zero.

    Weights that still are about zero say nothing about the size of an update. None where the values are other ones.
    """
    now, old = first_values(tensor).float(), before.float()
    if now.shape != old.shape:
        return None
    size = old.norm()
    return torch.where(size > TINY * old.numel() ** 0.5, (now - old).norm() / size, torch.nan)


def norm_of(tensors: list[Tensor]) -> Tensor:
    """The L2 norm over all of them, in one pass; shards count as they lie on this rank."""
    local = [t.to_local() if hasattr(t, "to_local") else t for t in tensors]
    norm: Tensor = torch.linalg.vector_norm(torch.stack([n.float() for n in torch._foreach_norm(local)]))
    return norm


def innermost(optimizer: Optimizer) -> Optimizer:
    """The optimizer that steps: the one inside, where an optimizer is laid around another, as Accelerate does it."""
    inner = getattr(optimizer, "optimizer", None)
    while isinstance(inner, Optimizer):
        optimizer, inner = inner, getattr(inner, "optimizer", None)
    return optimizer


def describe(optimizer: Optimizer, index: int) -> dict[str, Any]:
    """Kind and groups of an optimizer as plain values."""
    groups = [
        {
            "lr": float(group.get("lr", 0.0)), "weight_decay": float(group.get("weight_decay", 0.0) or 0.0),
            "num": len(group["params"]), "num_vectors": sum(p.ndim <= 1 for p in group["params"]),
        }
        for group in optimizer.param_groups
    ]  # fmt: skip
    parameters = [id(parameter) for parameter in parameters_of(optimizer)]
    return {
        "optimizer": index, "kind": type(optimizer).__name__, "groups": groups, "num_parameters": len(parameters),
        "parameters": sorted(parameters),
    }  # fmt: skip

