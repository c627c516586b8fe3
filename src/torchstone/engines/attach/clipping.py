"""Clipping of gradients: whether there was anything to clip, and whether a loss scaler was taken off before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchstone.engines.attach.backward import Backwards
from torchstone.engines.attach.optimizers import Optimizers
from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder, safely
from torchstone.engines.attach.scalers import Scalers

NAMES = ("clip_grad_norm_", "clip_grad_value_")


class Clipping:
    """Calls of torch.nn.utils.clip_grad_norm_ and clip_grad_value_, also through their own module."""

    def __init__(self, recorder: Recorder, optimizers: Optimizers, backwards: Backwards, scalers: Scalers) -> None:
        self.recorder, self._optimizers, self._backwards = recorder, optimizers, backwards
        self._scalers = scalers

    def attach(self, patches: Patches) -> None:
        """Wraps both functions where people import them from."""
        for name in NAMES:
            for module in (torch.nn.utils, torch.nn.utils.clip_grad):
                patches.replace(module, name, self._wrapped(name))

    def _wrapped(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        recorder = self.recorder

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
                listed = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
                if recorder.is_awake:
                    self._see(name, listed)
                elif recorder.is_on:  # asleep, backward passes are not followed either
                    recorder.add("clips")
                return original(listed, *args, **kwargs)

            return clip

        return make

    @safely
    def _see(self, name: str, parameters: list[torch.Tensor]) -> None:
        """One row per call that comes too early or too late; the step's own row says how it was clipped."""
        recorder = self.recorder
        recorder.add("clips")
        place = recorder.place("clip")
        wheels = {id(wheel): wheel for p in parameters if (wheel := self._optimizers.owner.get(id(p))) is not None}
        for wheel in wheels.values():
            has_passed = wheel.accumulated > 0 if wheel.sentinel is not None else self._backwards.is_pending
            wheel.clip = "norm" if name == "clip_grad_norm_" else "value"
            wheel.is_clipped_scaled = has_passed and not self._scalers.is_unscaled
            if not has_passed and wheel.steps > 0:
                recorder.add("idle_clips")
                if recorder.count["idle_clips"] <= 20:
                    has_grads = any(parameter.grad is not None for parameter in parameters)
                    recorder.note("clip", optimizer=wheel.index, has_grads=has_grads, place=place)
