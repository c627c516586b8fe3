"""The second gradient of a step that looks for flat places (optimizers/sam.py)."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import nn

from torchstone.engines.pytorch.optimizers.sam import Sam


def take_uphill_gradients(optimizer: Sam, model: nn.Module, gradients: Callable[[], float]) -> float:
    """Replaces the gradients by those of the same examples at weights that lie uphill; returns their norm.

    gradients: computes and divides them, and returns the norm. The weights are back where they were only after the
    optimizer's second_step, or at once if the norm is not finite. BatchNorm's statistics keep the first pass alone.
    """
    buffers = list(model.buffers())
    kept = [buffer.detach().clone() for buffer in buffers]
    optimizer.first_step()
    optimizer.zero_grad(set_to_none=True)
    norm = gradients()
    with torch.no_grad():
        for buffer, value in zip(buffers, kept, strict=True):
            buffer.copy_(value)
    if not math.isfinite(norm):
        optimizer.go_back()
    return norm
