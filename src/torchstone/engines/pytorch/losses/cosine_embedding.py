"""Pairs that belong together point the same way."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.losses import Loss, full, made_for
from torchstone.engines.pytorch.losses._pairs import two_sides


@made_for("pairs of embeddings")
def cosine_embedding(*, margin: float = 0.0) -> Loss:
    """1 - cos of a pair that belongs together, max(0, cos - margin) of one that does not, summed over pairs.

    Takes embeddings [B, 2, D], the two sides of each pair, and targets [B]: 1 where they belong together, else 0 or
    -1 (torch.nn.CosineEmbeddingLoss knows only -1). The weight counts pairs. Raises StoneError for other shapes.

    margin: the cosine below which a pair is far enough apart, -1 to 1; torch suggests 0 to 0.5.
    """
    if not -1 <= margin <= 1:
        raise StoneError(f"margin is {margin:g}; it must be from -1 to 1", where="loss.margin", fix="start at 0.0")

    def loss(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor | float]:
        first, second = two_sides(full(logits), target)
        sign = (target > 0).to(first.dtype) * 2 - 1
        total = functional.cosine_embedding_loss(first, second, sign, margin=margin, reduction="sum")
        return total, float(len(target))

    return loss
