"""Absolute error of numbers."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from torchstone.engines.pytorch.losses import Loss, aligned


def mae() -> Loss:
    """Absolute differences, summed; its best answer is the median, so that outliers hardly pull it.

    Takes outputs [B, 1] or [B] and targets [B]; raises StoneError where shapes differ otherwise.
    """

    def loss(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor | float]:
        output, wanted = aligned(logits, target)
        return functional.l1_loss(output, wanted, reduction="sum"), float(wanted.numel())

    return loss
