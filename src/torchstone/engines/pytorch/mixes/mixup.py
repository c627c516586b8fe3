"""Two pictures laid over each other."""

from __future__ import annotations

import numpy as np
import torch

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.batch import Batch
from torchstone.engines.pytorch.mixes import Mix, blended, soft_targets


def mixup(num_classes: int, *, alpha: float = 0.2) -> Mix:
    """Each picture becomes share·itself + (1-share)·another of its batch, its target likewise.

    alpha: the share of a batch is drawn from Beta(alpha, alpha); 0.2 was used for ImageNet (Zhang et al. 2018).
    """
    if alpha <= 0:
        raise StoneError(f"alpha is {alpha}; it must be above 0", where="mix.alpha", fix="leave mix out for no mixing")

    def mix(batch: Batch, draw: np.random.Generator) -> Batch:
        share = float(draw.beta(alpha, alpha))
        order = torch.from_numpy(draw.permutation(len(batch.rows)))
        pictures = batch.inputs[0]
        mixed = torch.lerp(pictures[order], pictures, share)
        return blended(batch, mixed, soft_targets(batch.target, num_classes), order, share)

    return mix
