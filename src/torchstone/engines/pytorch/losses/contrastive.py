"""Pairs that belong together are pulled, others pushed apart."""

from __future__ import annotations

import torch
from torch import Tensor

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.losses import Loss, full, made_for
from torchstone.engines.pytorch.losses._pairs import two_sides


@made_for("pairs of embeddings")
def contrastive(*, margin: float = 1.0) -> Loss:
    """y d² + (1 - y) max(0, margin - d)² of the Euclidean distance d of each pair, summed; the weight counts pairs.

    Takes embeddings [B, 2, D], the two sides of each pair, and targets y [B]: 1 where they belong together, else 0.
    Raises StoneError for other shapes. Source: Hadsell, Chopra & LeCun 2006, whose Y is 1 - y and whose sum is
    halved. Two equal embeddings that should be apart get no gradient: no direction is better than another.

    margin: how far apart is far enough, in units of the embeddings; above 0. Starting point, tune on your data.
    """
    if not margin > 0:
        raise StoneError(f"margin is {margin:g}; it must be above 0", where="loss.margin", fix="start at 1.0")

    def loss(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor | float]:
        first, second = two_sides(full(logits), target)
        distance = torch.linalg.vector_norm(first - second, dim=1)
        same = target.to(distance.dtype)
        apart = (margin - distance).clamp_min(0)
        return (same * distance.square() + (1 - same) * apart.square()).sum(), float(len(target))

    return loss
