"""Loss scalers and autocast: fp16 without a scaler, bf16 with one, clipping of gradients that are still scaled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torchstone.engines.attach.backward import Backwards
from torchstone.engines.attach.models import Models, Root
from torchstone.engines.attach.optimizers import Optimizers
from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder


class Scalers:
    """Calls of GradScaler, and the dtype of autocast at each forward pass."""

    def __init__(self, recorder: Recorder, models: Models, optimizers: Optimizers, backwards: Backwards) -> None:
        self.recorder, self._optimizers, self._backwards = recorder, optimizers, backwards
        self.is_unscaled = False
        self._dtype: str | None = None
        models.on_forward.append(self._forward)
        optimizers.on_step.append(self._into)

    def attach(self, patches: Patches) -> None:
        """Wraps `scale`, `unscale_` and `step` of torch.amp.GradScaler, from which the old names derive."""
        for name, make in (("scale", self._scale), ("unscale_", self._unscale), ("step", self._step)):
            patches.replace(torch.amp.GradScaler, name, make)
        patches.replace(torch.autocast, "__enter__", self._enter)

    def _forward(self, root: Root, inputs: tuple[Any, ...], output: Any) -> None:
        dtype = None
        for device in ("cuda", "cpu"):
            if torch.is_autocast_enabled(device):
                dtype = str(torch.get_autocast_dtype(device)).removeprefix("torch.")
        if root.has_grad:
            self._dtype = dtype

    def _enter(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __enter__(context: Any) -> Any:
            if self.recorder.is_on and not torch.compiler.is_compiling() and getattr(context, "_enabled", True):
                self.recorder.add("autocasts")
            return original(context)

        return __enter__

    def _scale(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def scale(scaler: Any, outputs: Any) -> Any:
            scaled = original(scaler, outputs)
            if self.recorder.is_on and isinstance(scaled, Tensor) and scaler.is_enabled():
                scaled._unscaled_loss = outputs.detach()  # type: ignore[attr-defined]
            return scaled

        return scale

    def _unscale(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def unscale_(scaler: Any, optimizer: Any) -> Any:
            self.is_unscaled = True
            return original(scaler, optimizer)

        return unscale_

    def _step(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            before = self.recorder.step
            result = original(scaler, optimizer, *args, **kwargs)
            if self.recorder.is_on and scaler.is_enabled() and self.recorder.step == before:
                self.recorder.add("skipped_by_scaler")
                self.is_unscaled = False
            return result

        return step

    def _into(self, wheel: Any, row: dict[str, Any]) -> None:
        row["autocast"], row["is_unscaled"] = self._dtype, self.is_unscaled
        row["autocasts"] = self.recorder.count.get("autocasts", 0)  # so far
        self.is_unscaled = False
