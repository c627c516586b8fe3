"""Exponential moving average of weights and float buffers."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from torchstone.core.errors import StoneError


class Average:
    """A second set of weights that follows the first: average ← decay·average + (1-decay)·weights.

    Float buffers (BatchNorm statistics) are averaged too; integer ones are copied. The decay grows as
    min(decay, (1+t)/(10+t)) with the step t, as in TensorFlow's ExponentialMovingAverage(num_updates).
    """

    def __init__(self, model: nn.Module, decay: float, recalibrate: int = 0) -> None:
        self.decay, self._batches, self.num = decay, recalibrate, 0
        self._live = dict(model.state_dict(keep_vars=True))
        self._shadow = {name: value.detach().clone() for name, value in self._live.items()}
        self._floats = [name for name, value in self._live.items() if value.is_floating_point()]
        self._rest = [name for name in self._live if name not in set(self._floats)]

    @property
    def recalibrate(self) -> int:
        """Batches for BatchNorm's statistics; 0 before the first update, when the model's own are right."""
        return self._batches if self.num else 0

    @torch.no_grad()
    def update(self, step: int, total: int) -> None:
        """Follows the weights after optimizer step `step` (0, 1, …)."""
        decay = min(self.decay, (1 + step) / (10 + step))
        shadow = [self._shadow[name] for name in self._floats]
        live = [self._live[name].detach() for name in self._floats]
        torch._foreach_lerp_(shadow, live, 1 - decay)
        for name in self._rest:
            self._shadow[name].copy_(self._live[name])
        self.num += 1

    def end_epoch(self, epoch: int, epochs: int) -> None:
        """It has followed every step already."""

    def state(self) -> dict[str, Tensor]:
        """The averaged weights and buffers by the model's names, as this rank has them."""
        return dict(self._shadow)

    @torch.no_grad()
    def load(self, state: Mapping[str, Tensor], num: int) -> None:
        """Takes over saved averages."""
        self.num = num
        for name, value in state.items():
            self._shadow[name].copy_(value)


def ema(model: nn.Module, *, decay: float = 0.999, recalibrate: int = 0) -> Average:
    """Exponential moving average of the weights; decay is the share kept at each optimizer step.

    recalibrate: training batches from which BatchNorm's statistics are measured anew whenever the average is judged
    or saved; 0: they are averaged along, as timm.utils.ModelEmaV3 does. Raises StoneError below 0.
    """
    if recalibrate < 0:
        raise StoneError(f"recalibrate is {recalibrate}; it must be 0 or more", where="averaging.recalibrate")
    return Average(model, decay, recalibrate)
