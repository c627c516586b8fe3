"""Frequent classes are thinned, anew each epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchstone.core.errors import StoneError
from torchstone.parts.samplers import Sampler, generator, places_by_class

if TYPE_CHECKING:
    import numpy as np


def undersampled(*, ratio: float = 1.0) -> Sampler:
    """At most `ratio` times as many examples of a class as the rarest has, another choice in each epoch.

    ratio: at least 1; 1 makes all classes equally frequent. Over the epochs all examples are seen; each epoch is
    shorter (Drummond & Holte 2003, C4.5, Class Imbalance, and Cost Sensitivity).
    """
    if ratio < 1:
        raise StoneError(f"ratio is {ratio}; it must be at least 1", where="sampler.ratio")

    def order(labels: np.ndarray, seed: int, epoch: int) -> np.ndarray:
        import numpy as np

        draw = generator(seed, epoch)
        classes = places_by_class(labels)
        most = int(ratio * min(len(places) for places in classes))
        return draw.permutation(np.concatenate([draw.permutation(places)[:most] for places in classes]))

    return order
