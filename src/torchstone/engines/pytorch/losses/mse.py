"""Squared error of numbers."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from torchstone.engines.pytorch.losses import Loss, aligned


def mse() -> Loss:
    """Squared differences, summed; its best answer is the mean, so that outliers pull it.

    Takes outputs [B, 1] or [B] and targets [B]; raises StoneError where shapes differ otherwise.
    """

    def loss(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor | float]:
        output, wanted = aligned(logits, target)
        return functional.mse_loss(output, wanted, reduction="sum"), float(wanted.numel())

    return loss
