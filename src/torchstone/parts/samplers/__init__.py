"""The order in which an epoch deals out its training examples: pure functions of what they are given.

Legend of axes: N training examples, M of them (with repeats) in an epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchstone.core.errors import StoneError

if TYPE_CHECKING:
    import numpy as np

# (labels int64 [N], seed, epoch) → positions int64 [M] in 0 … N-1; M is the same in every epoch. Labels are class
# indices where an example has one class, else all 0.
Sampler = Callable[["np.ndarray", int, int], "np.ndarray"]

# The samplers that ask for one class per example.
BY_CLASS = ("class_balanced", "oversampled", "undersampled")


@dataclass(frozen=True)
class ByDifficulty:
    """A sampler that goes by a number for each example, larger for a harder one.

    deal: (difficulty float64 [N], seed, epoch, epochs) → positions int64 [M] in 0 … N-1. Equal numbers say nothing,
        as before anything is measured; NaN is the hardest.
    count: (N, epoch, epochs) → M, known before the run starts, since the learning rate hangs on all steps.
        `epochs` are those for which the run was planned; an epoch after them is dealt as the last one.
    is_given: whether the data says the number (data.difficulty). Else it is the model's own loss on the example,
        measured at the start of epoch `first` (counted from 0) and then every `every` epochs (0: never again).
        Measuring costs a forward pass over all training examples.
    """

    deal: Callable[[np.ndarray, int, int, int], np.ndarray]
    count: Callable[[int, int, int], int]
    is_given: bool = False
    first: int = 0
    every: int = 0

    def is_due(self, epoch: int) -> bool:
        """Whether the losses are measured at the start of an epoch."""
        since = epoch - self.first
        return not self.is_given and (since == 0 or (since > 0 and self.every > 0 and since % self.every == 0))


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


def easiest_first(difficulty: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """All positions, the smallest difficulty first, NaN last; those of equal difficulty in random order."""
    import numpy as np

    mixed = draw.permutation(len(difficulty))
    return mixed[np.argsort(difficulty[mixed], kind="stable")]


def the_easiest(
    share: Callable[[int, int], float], *, is_given: bool = False, first: int = 0, every: int = 0
) -> ByDifficulty:
    """A sampler of the easiest examples, each once in random order: `share(epoch, epochs)` of all, one at least.

    is_given, first, every: as in `ByDifficulty`.
    """

    def count(num: int, epoch: int, epochs: int) -> int:
        return min(num, max(1, round(share(min(epoch, epochs - 1), epochs) * num)))

    def deal(difficulty: np.ndarray, seed: int, epoch: int, epochs: int) -> np.ndarray:
        draw = generator(seed, epoch)
        return draw.permutation(easiest_first(difficulty, draw)[: count(len(difficulty), epoch, epochs)])

    return ByDifficulty(deal, count, is_given=is_given, first=first, every=every)


def way_from(begin: float, end: float, epoch: int) -> float:
    """How much of the way from epoch `begin` to epoch `end` is made at the start of an epoch: 0 to 1."""
    return 1.0 if epoch >= end else max(0.0, (epoch - begin) / (end - begin))


def must_lie(name: str, value: float, low: float, high: float = float("inf")) -> None:
    """Raises StoneError for an option of a sampler that is not from `low` to `high`."""
    if not low <= value <= high:
        allowed = f"from {low:g} to {high:g}" if high < float("inf") else f"{low:g} or more"
        raise StoneError(f"{name} is {value}; it must be {allowed}", where=f"sampler.{name}")
