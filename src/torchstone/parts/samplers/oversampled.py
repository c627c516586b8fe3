"""Rare classes are repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchstone.core.errors import StoneError
from torchstone.parts.samplers import Sampler, generator, places_by_class, repeated

if TYPE_CHECKING:
    import numpy as np


def oversampled(*, share: float = 1.0) -> Sampler:
    """Repeats examples of rare classes until each class has `share` of the largest one's number; none is left out.

    share: in (0, 1]; 1 makes all classes equally frequent. Repeated examples are memorised sooner: watch for
    overfitting on rare classes (Buda et al. 2018, A systematic study of the class imbalance problem).
    """
    if not 0 < share <= 1:
        raise StoneError(f"share is {share}; it must be above 0 and at most 1", where="sampler.share")

    def order(labels: np.ndarray, seed: int, epoch: int) -> np.ndarray:
        import numpy as np

        draw = generator(seed, epoch)
        classes = places_by_class(labels)
        wanted = int(share * max(len(places) for places in classes))
        return draw.permutation(np.concatenate([repeated(p, max(wanted, len(p)), draw) for p in classes]))

    return order
