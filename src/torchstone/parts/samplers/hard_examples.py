"""What the model gets wrong comes more often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchstone.parts.samplers import ByDifficulty, easiest_first, generator, must_lie

if TYPE_CHECKING:
    import numpy as np

# Apart from the generators of the epochs.
_ROUNDS = 2**40


def hard_examples(
    *, pressure: float = 100.0, final_pressure: float = 1.0, uniform: float = 0.2, warm_up: int = 1, every: int = 1
) -> ByDifficulty:
    """N draws an epoch, the more often the larger the loss, besides a share of all examples in turn.

    pressure: how many times as often the hardest example comes as the easiest; between them the chance falls by
    equal factors from rank to rank. It goes to final_pressure at the last epoch by equal factors; 1 is no
    preference (Loshchilov & Hutter 2015, Online Batch Selection for Faster Training of Neural Networks).
    uniform: share of an epoch that goes through all examples in turn, so that each comes at least once in
    1/uniform epochs, rounded up. warm_up: epochs, each example once, before the first measurement; every: epochs
    between measurements, each a forward pass over all training examples. Wrong labels are hard examples: with these
    it learns what is wrong (0.466 in the measurement that small_loss names). All values are starting points, tune on
    your data.
    """
    must_lie("pressure", pressure, 1)
    must_lie("final_pressure", final_pressure, 1)
    must_lie("uniform", uniform, 0, 1)
    must_lie("warm_up", warm_up, 0)
    must_lie("every", every, 1)

    def deal(difficulty: np.ndarray, seed: int, epoch: int, epochs: int) -> np.ndarray:
        import numpy as np

        draw, num = generator(seed, epoch), len(difficulty)
        if epoch < warm_up:
            return draw.permutation(num)
        past = min(1.0, epoch / max(epochs - 1, 1))
        now = pressure * (final_pressure / pressure) ** past
        turn = _in_turn(num, uniform, seed, epoch - warm_up)
        ranked = easiest_first(difficulty, draw)[::-1]
        return draw.permutation(np.concatenate([turn, _by_rank(ranked, now, num - len(turn), draw)]))

    return ByDifficulty(deal, lambda num, epoch, epochs: num, first=warm_up, every=every)


def _in_turn(num: int, share: float, seed: int, epoch: int) -> np.ndarray:
    """This epoch's part of a round through all examples; a new round, in another order, when each had its turn."""
    import math

    import numpy as np

    if share == 0:
        return np.zeros(0, dtype=np.int64)
    length = math.ceil(1 / share)
    round_, part = divmod(epoch, length)
    return np.array_split(generator(seed, _ROUNDS + round_).permutation(num), length)[part]


def _by_rank(ranked: np.ndarray, pressure: float, count: int, draw: np.random.Generator) -> np.ndarray:
    """`count` of `ranked`, the chance of rank i being proportional to pressure^(-i/N), none drawn by luck alone.

    One random offset for all draws: each comes as often as expected, give or take once.
    """
    import numpy as np

    chances = pressure ** (-np.arange(len(ranked)) / len(ranked))
    edges = np.cumsum(chances / chances.sum())
    places = (np.arange(count) + draw.random()) / max(count, 1)
    return ranked[np.minimum(np.searchsorted(edges, places, side="right"), len(ranked) - 1)]
