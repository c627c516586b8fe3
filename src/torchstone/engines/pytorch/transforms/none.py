"""No augmentation."""

from __future__ import annotations

import numpy as np

from torchstone.engines.pytorch.sources.geometry import Augment, Draw, Geometry, whole


def none() -> Augment:
    """Every picture as it is, resized to the input; nothing is drawn."""

    def augment(draw: Draw, heights: np.ndarray, widths: np.ndarray, size: int) -> Geometry:
        return whole(heights, widths)

    return augment
