"""Error of numbers that is squared near zero and absolute far away."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.losses import Loss, aligned


def huber(*, delta: float = 1.0) -> Loss:
    """Half the squared difference up to `delta`, then a line (Huber 1964), summed.

    Takes outputs [B, 1] or [B] and targets [B]; raises StoneError where shapes differ otherwise.

    delta: where squares end, in units of the target as the model sees it (standardised: 1 is one standard
        deviation); above 0. Starting point, tune on your data.
    """
    if not delta > 0:
        raise StoneError(f"delta is {delta:g}; it must be above 0", where="loss.delta", fix="start at 1.0")

    def loss(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor | float]:
        output, wanted = aligned(logits, target)
        return functional.huber_loss(output, wanted, reduction="sum", delta=delta), float(wanted.numel())

    return loss
