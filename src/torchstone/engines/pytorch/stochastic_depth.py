"""Blocks that are left out at random while training.

Legend of axes: B examples.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from torchstone.core.errors import StoneError


class StochasticDepth(nn.Module):
    """What a block adds, zero for some examples of a training batch and scaled up for the others.

    Drawn for each example from torch's generator, whose state is in every checkpoint; scaled by 1 / (1 - probability),
    so that the expected value is that of evaluation, where nothing is dropped.
    """

    def __init__(self, probability: float) -> None:
        """probability: that an example goes without, 0 <= probability < 1; at 0 nothing is drawn."""
        super().__init__()
        self.probability = probability

    def forward(self, added: Tensor) -> Tensor:
        if not self.training or self.probability == 0:
            return added
        kept = 1 - self.probability
        shape = [len(added), *[1] * (added.dim() - 1)]
        return added * torch.empty(shape, dtype=added.dtype, device=added.device).bernoulli_(kept).div_(kept)

    def extra_repr(self) -> str:
        return f"probability={self.probability:g}"


def linear_rule(deepest: float, blocks: int) -> Sequence[float]:
    """Probabilities of each of `blocks` blocks: rising evenly to `deepest` at the last (Huang et al. 2016, eq. 4).

    The first of L blocks has deepest / L: early blocks are read by all others. Raises StoneError unless
    0 <= deepest < 1.
    """
    if not 0 <= deepest < 1:
        raise StoneError(f"stochastic_depth is {deepest}; it must be from 0 to below 1",
                         where="model.stochastic_depth")
    return [deepest * (block + 1) / blocks for block in range(blocks)]
