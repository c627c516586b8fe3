"""A rectangle of one picture pasted into another."""

from __future__ import annotations

import numpy as np
import torch

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.batch import Batch
from torchstone.engines.pytorch.mixes import Mix, blended, soft_targets


def cutmix(num_classes: int, *, alpha: float = 1.0) -> Mix:
    """A rectangle of each picture is replaced by that of another of its batch, the target by the share of area.

    alpha: the area kept is drawn from Beta(alpha, alpha); 1.0 was used for ImageNet (Yun et al. 2019). The target
    follows the area that was really replaced, after the rectangle is cut at the border.
    """
    if alpha <= 0:
        raise StoneError(f"alpha is {alpha}; it must be above 0", where="mix.alpha", fix="leave mix out for no mixing")

    def mix(batch: Batch, draw: np.random.Generator) -> Batch:
        order = torch.from_numpy(draw.permutation(len(batch.rows)))
        pictures = batch.inputs[0]
        height, width = pictures.shape[-2:]
        top, bottom, left, right = _rectangle(height, width, float(draw.beta(alpha, alpha)), draw)
        mixed = pictures.clone()
        mixed[..., top:bottom, left:right] = pictures[order][..., top:bottom, left:right]
        share = 1 - (bottom - top) * (right - left) / (height * width)
        return blended(batch, mixed, soft_targets(batch.target, num_classes), order, share)

    return mix


def _rectangle(height: int, width: int, kept: float, draw: np.random.Generator) -> tuple[int, int, int, int]:
    """A rectangle of about (1-kept) of the area around a random centre, cut at the border: top, bottom, left, right."""
    side = (1 - kept) ** 0.5
    half_height, half_width = int(height * side) // 2, int(width * side) // 2
    y, x = int(draw.integers(height)), int(draw.integers(width))
    return max(y - half_height, 0), min(y + half_height, height), max(x - half_width, 0), min(x + half_width, width)
