"""Losses: each returns (sum, weight), so that gradients can be divided once by the true total."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from torchstone.core.errors import StoneError

if TYPE_CHECKING:
    from torch import Tensor

# logits [B, K], target → (sum over the targets that count, their total weight: a number or a 0-dim tensor)
Loss = Callable[["Tensor", "Tensor"], "tuple[Tensor, Tensor | float]"]


def full(logits: Tensor) -> Tensor:
    """The logits in at least single precision: a sum over a batch overflows in float16 and is coarse in bfloat16."""
    return logits if logits.element_size() >= 4 else logits.float()


def paired(logits: Tensor, target: Tensor) -> Tensor:
    """The logits in the shape of `target`: equal, or with one last axis of length 1 that is dropped.

    Raises StoneError for every other pair of shapes. Subtracting [B, 1] and [B] would broadcast to [B, B] and train
    towards the mean without a word.
    """
    if logits.shape == target.shape:
        return logits
    if logits.shape == (*target.shape, 1):
        return logits.squeeze(-1)
    raise StoneError(
        f"the model gives {tuple(logits.shape)}, the target has shape {tuple(target.shape)}; they must be equal",
        where="loss", fix="check the number of outputs of the model against the number of target values",
    )
