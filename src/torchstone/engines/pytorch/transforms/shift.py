"""Small moves, for symbols that a flip or a crop would turn into something else."""

from __future__ import annotations

import numpy as np

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.sources.geometry import Augment, Draw, Geometry, whole


def shift(*, share: float = 0.125) -> Augment:
    """Each picture moved by up to `share` of the input's side, right or left and up or down; the edge is repeated.

    share: 0 to 0.5; 1/8 is 1 pixel of 8 and 4 pixels of 32, the padding of He et al. 2016 (section 4.2) for CIFAR.
    """
    if not 0 <= share <= 0.5:
        raise StoneError(f"share is {share}; it must be from 0 to 0.5", where="image.augment.share")

    def augment(draw: Draw, heights: np.ndarray, widths: np.ndarray, size: int) -> Geometry:
        plain = whole(heights, widths)
        most = int(size * share)
        shifts = np.floor(draw(2) * (2 * most + 1)).astype(np.int64) - most
        return Geometry(plain.boxes, plain.flips, shifts)

    return augment
