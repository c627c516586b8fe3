"""Exponential moving average of weights and float buffers."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Average:
    """A second set of weights that follows the first: average ← decay·average + (1-decay)·weights.

    Float buffers (BatchNorm statistics) are averaged too; integer ones are copied. The decay grows as
    min(decay, (1+t)/(10+t)) with the step t, as in TensorFlow's ExponentialMovingAverage(num_updates).
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self._live = dict(model.state_dict(keep_vars=True))
        self._shadow = {name: value.detach().clone() for name, value in self._live.items()}
        self._floats = [name for name, value in self._live.items() if value.is_floating_point()]
        self._rest = [name for name in self._live if name not in set(self._floats)]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Follows the weights after optimizer step `step` (0, 1, …)."""
        decay = min(self.decay, (1 + step) / (10 + step))
        shadow = [self._shadow[name] for name in self._floats]
        live = [self._live[name].detach() for name in self._floats]
        torch._foreach_lerp_(shadow, live, 1 - decay)
        for name in self._rest:
            self._shadow[name].copy_(self._live[name])

    def state(self) -> dict[str, Tensor]:
        """The averaged weights and buffers by the model's names, as this rank has them."""
        return dict(self._shadow)

    @torch.no_grad()
    def load(self, state: dict[str, Tensor]) -> None:
        """Takes over saved averages."""
        for name, value in state.items():
            self._shadow[name].copy_(value)


def ema(model: nn.Module, *, decay: float = 0.999) -> Average:
    """Exponential moving average of the weights; decay is the share kept at each optimizer step."""
    return Average(model, decay)
