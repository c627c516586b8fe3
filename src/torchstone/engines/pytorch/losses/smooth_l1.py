"""Error of numbers that is squared near zero and absolute far away, with slope 1."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.losses import Loss, aligned


def smooth_l1(*, beta: float = 1.0) -> Loss:
    """d² / (2 beta) for differences d below `beta`, then |d| - beta / 2 (Girshick 2015), summed.

    It is the Huber loss of delta = beta divided by beta: its slope far away is 1 whatever `beta` is. Takes outputs
    [B, 1] and targets [B], or equal shapes; raises StoneError for others.

    beta: where squares end, in units of the target; 0 is the absolute error. Starting point, tune on your data.
    """
    if not beta >= 0:
        raise StoneError(f"beta is {beta:g}; it must be 0 or above", where="loss.beta", fix="start at 1.0")

    def loss(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor | float]:
        output, wanted = aligned(logits, target)
        return functional.smooth_l1_loss(output, wanted, reduction="sum", beta=beta), float(wanted.numel())

    return loss
