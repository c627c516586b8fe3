"""The order in which an epoch deals out its training examples: pure functions of (seed, epoch)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

# (labels int64 [N], seed, epoch) → positions int64 [M] in 0 … N-1; M is the same in every epoch. Labels are class
# indices where an example has one class, else all 0.
Sampler = Callable[["np.ndarray", int, int], "np.ndarray"]


def generator(seed: int, epoch: int) -> np.random.Generator:
    """A generator that depends on seed and epoch alone, so that any epoch can be dealt out again."""
    import numpy as np

    return np.random.Generator(np.random.Philox(key=[seed, epoch]))


def places_by_class(labels: np.ndarray) -> list[np.ndarray]:
    """The positions of each class that has any, in the order of the classes."""
    import numpy as np

    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def repeated(places: np.ndarray, count: int, draw: np.random.Generator) -> np.ndarray:
    """`count` of `places` at random, each as often as any other, give or take once."""
    import numpy as np

    whole, rest = divmod(count, len(places))
    return np.concatenate([np.tile(places, whole), draw.permutation(places)[:rest]])
