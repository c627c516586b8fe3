"""Units behind a ReLU that never fire, and sigmoids and tanhs at their limits, seen at a few forward passes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from torchstone.engines.attach.models import Models, Root
from torchstone.engines.attach.optimizers import Optimizers
from torchstone.engines.attach.recorder import Recorder, Row, safely
from torchstone.engines.attach.wheels import Wheel

# Optimizer steps before whose forward pass hooks are put on for one pass, then every so many steps.
SAMPLES, EVERY, MOST_SAMPLES = (2, 8, 16, 24, 32, 48), 200, 40
# How near to its limit an output of a sigmoid or tanh counts as saturated, as a share of its range.
EDGE = 0.01


class Units:
    """Hooks on nn.ReLU modules for single passes; between them the model runs without."""

    def __init__(self, recorder: Recorder, models: Models, optimizers: Optimizers) -> None:
        self.recorder, self._models = recorder, models
        self._handles: list[Any] = []
        self._fired: dict[str, Tensor] = {}
        self._rows: dict[str, Row] = {}
        self._samples = 0
        optimizers.on_step.append(self._stepped)
        models.on_forward.append(self._forward)

    def attach(self, patches: Any) -> None:
        """Only takes care that no hook is left."""
        patches.at_end(self._unhook)

    def _unhook(self) -> None:
        """Takes the hooks off."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    @safely
    def _stepped(self, wheel: Wheel, row: dict[str, Any]) -> None:
        step = self.recorder.step
        if self._handles or self._samples >= MOST_SAMPLES or not (step in SAMPLES or step % EVERY == 0):
            return
        for root in self._models.roots:
            module = root.ref()
            if module is None or not root.handles or type(module).__name__ == "OptimizedModule":
                continue
            for name, one in module.named_modules():
                if isinstance(one, (nn.ReLU, nn.ReLU6)):
                    self._handles.append(one.register_forward_hook(self._hook(f"{root.index}:{name}")))
                elif isinstance(one, (nn.Sigmoid, nn.Tanh)):
                    low = 0.0 if isinstance(one, nn.Sigmoid) else -1.0
                    self._handles.append(one.register_forward_hook(self._edges(f"{root.index}:{name}", low)))
        self._samples += bool(self._handles)

    def _hook(self, key: str) -> Any:
        def after(module: nn.Module, inputs: Any, output: Any) -> None:
            if isinstance(output, Tensor) and output.ndim >= 2 and torch.is_grad_enabled():
                self._see(key, output.detach())

        return torch.compiler.disable(after)  # type: ignore[no-untyped-call]

    def _edges(self, key: str, low: float) -> Any:
        def after(module: nn.Module, inputs: Any, output: Any) -> None:
            if isinstance(output, Tensor) and output.numel() and torch.is_grad_enabled():
                self._see_edges(key, output.detach(), low)

        return torch.compiler.disable(after)  # type: ignore[no-untyped-call]

    @safely
    def _see_edges(self, key: str, output: Tensor, low: float) -> None:
        """The share of outputs at either end of the range, at the newest sample."""
        row = self._rows.get(key)
        if row is None:
            layer = key.partition(":")[2]
            row = self._rows[key] = self.recorder.note("edges", layer=layer, samples=0)
        row["step"] = self.recorder.step
        row["samples"] += 1
        edge = EDGE * (1.0 - low)
        self.recorder.later(row, "share", ((output < low + edge) | (output > 1.0 - edge)).float().mean())

    @safely
    def _see(self, key: str, output: Tensor) -> None:
        axes = [axis for axis in range(output.ndim) if axis != (1 if output.ndim != 3 else 2)]
        fired = output.amax(dim=axes) > 0  # the largest first: a mask of all outputs costs four times as much
        known = self._fired.get(key)
        self._fired[key] = fired if known is None or known.shape != fired.shape else known | fired
        row = self._rows.get(key)
        if row is None:
            layer = key.partition(":")[2]
            row = self._rows[key] = self.recorder.note("units", layer=layer, samples=0, examples=0)
        row["step"] = self.recorder.step
        row["samples"] += 1
        row["examples"] += len(output)
        row["num"] = self._fired[key].numel()
        self.recorder.later(row, "num_dead", (~self._fired[key]).sum())

    def _forward(self, root: Root, inputs: tuple[Any, ...], output: Any) -> None:
        if root.has_grad and self._handles:
            self._unhook()
