"""Averages of the weights along the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor

# Batches from which BatchNorm's statistics are measured anew: as many as fvcore.nn.precise_bn takes, the code of Wu &
# Johnson 2021, Rethinking "Batch" in BatchNorm. A shorter epoch has fewer.
BATCHES = 200


class Averaging(Protocol):
    """A second set of weights, which is the one that is judged and kept as the best."""

    @property
    def num(self) -> int:
        """How often the average has moved."""
        ...

    @property
    def recalibrate(self) -> int:
        """Training batches from which BatchNorm's statistics are to be measured for these weights; 0: none."""
        ...

    def update(self, step: int, total: int) -> None:
        """Follows the weights after optimizer step `step` of 0 … total - 1."""
        ...

    def end_epoch(self, epoch: int, epochs: int) -> None:
        """Follows the weights after the last step of epoch `epoch` of 0 … epochs - 1, before they are judged."""
        ...

    def state(self) -> dict[str, Tensor]:
        """The averaged weights and buffers by the model's names, as this rank has them."""
        ...

    def load(self, state: Mapping[str, Tensor], num: int) -> None:
        """Takes over saved averages, and how often they had moved."""
        ...
