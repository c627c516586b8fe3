"""Examples of a training batch mixed with each other, targets and all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from torchstone.engines.pytorch.batch import Batch

# (batch, generator) → batch with float targets [B, K]; pictures only. What is mixed depends on which examples share
# a batch: a mixed batch cannot be cut anew, but is the same again for the same seed, epoch, window and rank.
Mix = Callable[[Batch, np.random.Generator], Batch]


def soft_targets(target: Tensor, num_classes: int) -> Tensor:
    """int64 [B] class indices → float32 [B, num_classes]; float targets as they are."""
    if target.is_floating_point():
        return target
    return torch.nn.functional.one_hot(target, num_classes).float()


def blended(batch: Batch, inputs: Tensor, target: Tensor, order: Tensor, share: float) -> Batch:
    """The batch with these inputs, and targets of which `share` is an example's own and the rest its partner's."""
    return replace(batch, inputs=(inputs, *batch.inputs[1:]), target=share * target + (1 - share) * target[order])


def seeded(seed: int, epoch: int, rows: np.ndarray) -> np.random.Generator:
    """The generator of one batch, from what it is made of."""
    return np.random.Generator(np.random.Philox(key=[seed, (epoch << 40) + int(rows[0])]))
