"""What losses over pairs and over whole batches share.

Legend of axes: B examples or pairs, D embedding.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from torchstone.core.errors import StoneError


def two_sides(embeddings: Tensor, target: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The two [B, D] sides of embeddings [B, 2, D]; raises StoneError for other shapes or another number of targets."""
    if embeddings.ndim != 3 or embeddings.shape[1] != 2:
        raise StoneError(
            f"the model gives {tuple(embeddings.shape)}; this loss needs pairs of embeddings [B, 2, D]", where="loss",
            fix="stack the two sides: torch.stack([first, second], dim=1)",
        )  # fmt: skip
    if target is not None and target.shape != embeddings.shape[:1]:
        raise StoneError(
            f"{embeddings.shape[0]} pairs, targets of shape {tuple(target.shape)}; there must be one per pair",
            where="loss",
        )
    # selecting fills a tensor of zeros on the way back for each side, unbinding stacks the two gradients once
    first, second = embeddings.unbind(1)
    return first, second


def unit(embeddings: Tensor) -> Tensor:
    """The embeddings at length 1 along their last axis; a zero stays zero."""
    return functional.normalize(embeddings, dim=-1)


def products(first: Tensor, second: Tensor) -> Tensor:
    """[B, D] and [C, D] → [B, C] inner products, never in half precision: autocast would round what a temperature
    of 0.1 then multiplies by ten."""
    with torch.autocast(first.device.type, enabled=False):
        return first @ second.T
