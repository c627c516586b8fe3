"""Everything a training needs, put together: what the loop is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from torchstone.core.task import Direction
from torchstone.engines.pytorch.freezing import frozen_modules
from torchstone.engines.pytorch.recalibration import Statistics

if TYPE_CHECKING:
    import numpy as np
    import torch
    from torch import nn

    from torchstone.engines.pytorch.averaging import Averaging
    from torchstone.engines.pytorch.batch import Source
    from torchstone.engines.pytorch.clipping import Clipping
    from torchstone.engines.pytorch.feed import Feed
    from torchstone.engines.pytorch.losses import Loss
    from torchstone.engines.pytorch.precisions import Precision
    from torchstone.engines.pytorch.ruler import Ruler
    from torchstone.engines.pytorch.saver import Saver
    from torchstone.engines.pytorch.seen import Seen
    from torchstone.engines.pytorch.shrinkage import Shrinkage
    from torchstone.engines.pytorch.stopping import StopOn
    from torchstone.engines.pytorch.strategies import Strategy
    from torchstone.engines.pytorch.unfreezing import Unfreezing


@dataclass(frozen=True)
class Validation:
    """How the run is judged: rows of a source, metrics by name, and the one that chooses.

    decode: logits [N, K] float32 on the CPU → scores [N, K] or [N] (probabilities, or the number itself).
    metrics: name → function of (scores, target).
    """

    source: Source
    rows: np.ndarray
    batch_size: int
    decode: Callable[[torch.Tensor], np.ndarray]
    target: np.ndarray
    metrics: dict[str, Callable[[np.ndarray, np.ndarray], float]]
    metric: str
    direction: Direction


@dataclass(frozen=True)
class Job:
    """A training, ready to run.

    schedule: (step, total) → multiplier of each parameter group's own rate. clip_norm: 0 for none;
    clipping: another way to clip, after that one. shrinkage: an L1 penalty. frozen: modules that stay in eval mode
    for good. unfreezing: when others, which are frozen at first, are released.
    names: row → how a person finds that example. sample_every: steps between update-to-weight measurements.
    patience: validations without a better metric after which the run ends; 0 for never. stop_on: the
    same by any metric.
    ruler: measures the training examples for a sampler that goes by their losses. seen: counts which examples came.
    """

    model: nn.Module
    loss: Loss
    optimizer: torch.optim.Optimizer
    schedule: Callable[[int, int], float]
    feed: Feed
    epochs: int
    strategy: Strategy
    precision: Precision
    validation: Validation | None = None
    saver: Saver | None = None
    average: Averaging | None = None
    clip_norm: float = 0.0
    clipping: Clipping | None = None
    shrinkage: Shrinkage | None = None
    patience: int = 0
    stop_on: StopOn | None = None
    frozen: Sequence[nn.Module] = ()
    unfreezing: Unfreezing | None = None
    sample_every: int = 100
    names: Callable[[int], str] = str
    base_rates: Sequence[float] = field(default=())
    ruler: Ruler | None = None
    seen: Seen | None = None

    @property
    def resting(self) -> Sequence[nn.Module]:
        """The modules that stay in eval mode now: what is frozen, for good or until its release."""
        return self.frozen if self.unfreezing is None else frozen_modules(self.model)

    @cached_property
    def parameters(self) -> list[torch.Tensor]:
        """The parameters that the optimizer updates, in its order."""
        return [parameter for group in self.optimizer.param_groups for parameter in group["params"]]

    @cached_property
    def buffers(self) -> list[torch.Tensor]:
        """What a forward pass in train mode changes: BatchNorm's statistics and their like."""
        return list(self.model.buffers())

    @cached_property
    def kept_buffers(self) -> list[torch.Tensor]:
        """Room for the buffers as they were before a step."""
        return [buffer.detach().clone() for buffer in self.buffers]

    @cached_property
    def statistics(self) -> Statistics:
        """BatchNorm's statistics for the averaged weights, as they were last measured."""
        return Statistics()

    @property
    def total_steps(self) -> int:
        """Optimizer steps of the whole run, when none is skipped."""
        return self.feed.windows_of(self.epochs)
