"""Overlap of predicted and true areas."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.losses import Loss, full, paired


def dice(*, smooth: float = 1.0) -> Loss:
    """1 - (2 |P T| + smooth) / (|P| + |T| + smooth) per example and class, summed; the weight counts both.

    Of classes: logits [B, K, …], K of at least 2, and int64 targets [B, …]; P is their softmax. Of yes or no: logits
    and targets of equal shape [B, K, …], or [B, 1, …] and [B, …], or one area [B, N]; P is the sigmoid. Areas are
    summed over all axes behind the class. Raises StoneError for other shapes. Each example has a ratio of its own,
    so that a batch may be cut. Source: Milletari et al. 2016, without their squares.

    smooth: keeps an absent class that is not predicted at loss 0; above 0, in pixels. Starting point.
    """
    if not smooth > 0:
        raise StoneError(f"smooth is {smooth:g}; it must be above 0", where="loss.smooth", fix="start at 1.0")

    def loss(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor | float]:
        chance_BKN, truth_BKN = _areas(logits, target)
        overlap_BK = (chance_BKN * truth_BKN).sum(2)
        size_BK = chance_BKN.sum(2) + truth_BKN.sum(2)
        losses = 1 - (2 * overlap_BK + smooth) / (size_BK + smooth)
        return losses.sum(), float(losses.numel())

    return loss


def _areas(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    if logits.ndim == target.ndim + 1 and logits.shape[1] > 1 and logits.shape[2:] == target.shape[1:]:
        chance = full(logits).flatten(2).softmax(1)
        truth = functional.one_hot(target.flatten(1), logits.shape[1]).movedim(-1, 1)
        return chance, truth.to(chance.dtype)
    if logits.ndim == target.ndim + 1 and logits.shape[1] == 1:
        target = target.unsqueeze(1)
    num_classes = logits.shape[1] if logits.ndim == target.ndim and logits.ndim > 2 else 1
    logits = full(paired(logits, target))
    shape = (len(target), num_classes, -1)
    return logits.sigmoid().reshape(shape), target.to(logits.dtype).reshape(shape)
