"""Attention that drops weights in evaluation."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder, safely

# Frames in which the calling module is looked for, the names under which it stands there, and rows.
FRAMES, NAMES, ROWS = 6, ("self", "module"), 3


class Attention:
    """A row "dropped" for calls of scaled_dot_product_attention with dropout by a module in eval mode."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._num = 0

    def attach(self, patches: Patches) -> None:
        """Wraps the function."""
        recorder = self.recorder

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def scaled_dot_product_attention(*args: Any, **kwargs: Any) -> Any:
                result = original(*args, **kwargs)
                if recorder.is_on and not torch.compiler.is_compiling() and not torch.is_grad_enabled():
                    rate = kwargs.get("dropout_p", args[4] if len(args) > 4 else 0.0)
                    if rate and self._num < ROWS:
                        self._see(float(rate), caller(sys._getframe(1)))
                return result

            return scaled_dot_product_attention

        patches.replace(F, "scaled_dot_product_attention", make)

    @safely
    def _see(self, rate: float, module: nn.Module | None) -> None:
        if module is not None and not module.training and self.recorder.step > 0:
            self._num += 1
            self.recorder.note("dropped", function="scaled_dot_product_attention", rate=rate,
                               place=self.recorder.place("attention"), **{"class": type(module).__name__})  # fmt: skip


def caller(frame: Any) -> nn.Module | None:
    """The module whose forward pass this is; None where none is near."""
    for _ in range(FRAMES):
        if frame is None:
            return None
        for name in NAMES:
            if isinstance(found := frame.f_locals.get(name), nn.Module):
                return found
        frame = frame.f_back
    return None
