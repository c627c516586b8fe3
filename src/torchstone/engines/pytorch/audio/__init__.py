"""Changes of sound for a training loop of your own; there is no task for sound yet, so no recipe names them.

Legend of axes: B examples, T samples or frames, F frequency bands.

A change takes a batch and a generator on the CPU and gives a new batch of the same shape, dtype and device. What it
draws comes from the generator alone: the same state gives the same result. To make a batch depend on (seed, epoch,
row) and not on what was drawn before, seed a generator for each: `torch.Generator().manual_seed(…)`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

# (waveforms float [B, T] or spectrograms float [B, F, T], generator) -> the same shape
Change = Callable[[Tensor, torch.Generator], Tensor]


def even(low: float, high: float, like: Tensor, generator: torch.Generator) -> Tensor:
    """One number for each of B examples, even over [low, high): float [B], of the dtype and device of `like`."""
    numbers = torch.rand(len(like), generator=generator, dtype=torch.float64)
    return (low + (high - low) * numbers).to(like)
