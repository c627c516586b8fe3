"""As many draws as there are examples, classes as likely as the user wants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchstone.core.errors import StoneError
from torchstone.parts.samplers import Sampler, generator, places_by_class, repeated

if TYPE_CHECKING:
    import numpy as np


def class_balanced(*, power: float = 0.0) -> Sampler:
    """N draws in which a class of n examples has a share proportional to n^power; rare ones repeat, frequent rest.

    power: 0 draws all classes equally often, 1 as often as they are, 0.5 lies between (square-root sampling,
    Mahajan et al. 2018, Exploring the Limits of Weakly Supervised Pretraining).
    """
    if not 0 <= power <= 1:
        raise StoneError(f"power is {power}; it must be from 0 to 1", where="sampler.power")

    def order(labels: np.ndarray, seed: int, epoch: int) -> np.ndarray:
        import numpy as np

        draw = generator(seed, epoch)
        classes = places_by_class(labels)
        shares = np.array([float(len(places)) ** power for places in classes])
        edges = np.round(np.cumsum(shares / shares.sum()) * len(labels)).astype(np.int64)
        counts = np.diff(edges, prepend=0)
        return draw.permutation(
            np.concatenate([repeated(p, int(count), draw) for p, count in zip(classes, counts, strict=True)])
        )

    return order
