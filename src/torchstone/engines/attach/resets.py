"""Weights that are loaded and weights that are initialised anew, and rates that a loaded state brings back."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer, lr_scheduler

from torchstone.engines.attach.optimizers import Optimizers, parameters_of, rates_of
from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder, Row, has_numbers, safely
from torchstone.engines.attach.wheels import Wheel

FUNCTIONS = (
    "uniform_", "normal_", "trunc_normal_", "zeros_", "ones_", "constant_", "eye_", "dirac_", "orthogonal_",
    "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_",
)  # fmt: skip
# Rows of one kind that are written.
ROWS = 100


class Resets:
    """Calls of load_state_dict of modules, optimizers and schedulers, and of the functions of torch.nn.init."""

    def __init__(self, recorder: Recorder, optimizers: Optimizers) -> None:
        self.recorder, self._optimizers = recorder, optimizers
        self._loaded: dict[int, tuple[weakref.ref[Tensor], Row]] = {}
        self._event: tuple[int, int, Row] | None = None
        self._seen: set[int] = set()

    def attach(self, patches: Patches) -> None:
        """Wraps them."""
        patches.replace(nn.Module, "load_state_dict", self._module)
        patches.replace(Optimizer, "load_state_dict", self._optimizer)
        patches.replace(lr_scheduler.LRScheduler, "load_state_dict", self._schedule)
        for name in FUNCTIONS:
            patches.replace(nn.init, name, self._init)

    def _module(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def load_state_dict(module: Any, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
            own = num_own(module, state_dict) if self.recorder.is_on else 0
            result = original(module, state_dict, *args, **kwargs)
            self._see_loaded(module, state_dict, result, own)
            return result

        return load_state_dict

    @safely
    def _see_loaded(self, module: nn.Module, state: Any, result: Any, own: int) -> None:
        self.recorder.add("loads_of_weights")
        if self.recorder.count["loads_of_weights"] > ROWS:
            return
        missing, unexpected = list(result.missing_keys), list(result.unexpected_keys)
        given = [(name, p) for name, p in module.named_parameters() if name in state]
        row = self.recorder.note(
            "weights", place=self.recorder.place("load_state_dict"), num_keys=len(state), num_missing=len(missing),
            num_unexpected=len(unexpected), missing=missing[:4], unexpected=unexpected[:4],
            num_parameters=sum(1 for _ in module.parameters()), matched=len(state) - len(unexpected),
            weights=sum(p.numel() for _, p in given), reset=0, num_own=own,
        )  # fmt: skip
        for _, parameter in given:
            if not has_numbers(parameter):  # all of them are at address 0
                continue
            self._loaded[parameter.data_ptr()] = (weakref.ref(parameter), row)

    def _init(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def init(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(tensor, *args, **kwargs)
            if isinstance(tensor, Tensor) and self.recorder.is_on and not torch.compiler.is_compiling():
                self._see_init(tensor)
            return result

        return init

    @safely
    def _see_init(self, tensor: Tensor) -> None:
        """A tensor that was loaded before, or that an optimizer has been training."""
        if not has_numbers(tensor):
            return
        pointer = tensor.data_ptr()
        loaded = self._loaded.pop(pointer, None)
        if loaded is not None and (parameter := loaded[0]()) is not None and parameter.data_ptr() == pointer:
            loaded[1]["reset"] += parameter.numel()
            loaded[1]["reset_place"] = self.recorder.place("init")
        for wheel in self._optimizers.wheels():
            optimizer = wheel.ref()
            if wheel.steps and optimizer is not None:
                self._see_trained(wheel, optimizer, pointer)

    def _see_trained(self, wheel: Wheel, optimizer: Optimizer, pointer: int) -> None:
        parameters = parameters_of(optimizer)
        hit = next((p for p in parameters if p.data_ptr() == pointer), None)
        if hit is None:
            return
        key = (wheel.index, wheel.steps)
        if self._event is None or self._event[:2] != key:
            row = self.recorder.note(
                "reset", optimizer=wheel.index, own_step=wheel.steps, place=self.recorder.place("init"), num=0,
                weights=0, of=sum(p.numel() for p in parameters),
            )  # fmt: skip
            self._event, self._seen = (*key, row), set()
        if id(hit) not in self._seen:
            self._seen.add(id(hit))
            self._event[2]["num"] += 1
            self._event[2]["weights"] += hit.numel()

    def _optimizer(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def load_state_dict(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            before = rates_of(optimizer)
            result = original(optimizer, *args, **kwargs)
            self._see_rates(optimizer, before)
            return result

        return load_state_dict

    @safely
    def _see_rates(self, optimizer: Optimizer, before: list[float]) -> None:
        wheel = self._optimizers.wheel(optimizer)
        self.recorder.note("optimizer_loaded", optimizer=wheel.index, own_step=wheel.steps, before=before,
                           after=rates_of(optimizer), place=self.recorder.place("load optimizer"))  # fmt: skip

    def _schedule(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def load_state_dict(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            if self.recorder.is_on:
                self.recorder.note("schedule_loaded")
            return original(scheduler, *args, **kwargs)

        return load_state_dict


def num_own(module: nn.Module, state: Any) -> int:
    """How many tensors of a state are the module's own ones, in the same memory; 0 if it is no mapping of tensors."""
    if not isinstance(state, Mapping):
        return 0
    own = ((parameter, state.get(name)) for name, parameter in chain(module.named_parameters(), module.named_buffers()))
    return sum(
        isinstance(given, Tensor) and has_numbers(given) and given.numel() > 0 and not is_wrapped(given)
        and not is_wrapped(mine) and given.data_ptr() == mine.data_ptr()
        for mine, given in own
    )  # fmt: skip


def is_wrapped(tensor: Tensor) -> bool:
    """Whether it is of a class of its own, such as a shard, whose address cannot be asked for."""
    return type(tensor) not in (Tensor, nn.Parameter)
