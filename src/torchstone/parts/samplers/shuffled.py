"""Every example once, in random order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchstone.parts.samplers import Sampler, generator

if TYPE_CHECKING:
    import numpy as np


def shuffled() -> Sampler:
    """Every example once an epoch, in an order of its own for each epoch."""

    def order(labels: np.ndarray, seed: int, epoch: int) -> np.ndarray:
        return generator(seed, epoch).permutation(len(labels))

    return order
