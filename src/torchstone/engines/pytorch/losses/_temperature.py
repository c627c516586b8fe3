"""A temperature that is fixed or learnt."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.losses import Loss

# (embeddings, target, 1 / temperature) → (sum, weight)
Scaled = Callable[[Tensor, Tensor, "Tensor | float"], "tuple[Tensor, Tensor | float]"]
# CLIP keeps the factor from growing past this (Radford et al. 2021, section 2.5).
MAX_SCALE = 100.0


def with_temperature(loss: Scaled, temperature: float, *, is_learnt: bool) -> Loss:
    """The loss at a temperature; learnt: a module whose weight `log_scale` is the logarithm of 1 / temperature.

    Raises StoneError for a temperature that is not above 0, or that is to be learnt and starts below 0.01.
    """
    if not temperature > 0:
        raise StoneError(f"temperature is {temperature:g}; it must be above 0", where="loss.temperature",
                         fix="start at 0.1")
    if not is_learnt:
        return lambda embeddings, target: loss(embeddings, target, 1 / temperature)
    if 1 / temperature > MAX_SCALE:
        raise StoneError(f"temperature is {temperature:g}; one that is learnt stays at {1 / MAX_SCALE:g} or above",
                         where="loss.temperature", fix="start at 0.07")
    return Learnt(loss, temperature)


class Learnt(nn.Module):
    """A loss with a temperature of its own; `losses.with_weights_of` gives it to the model."""

    def __init__(self, loss: Scaled, temperature: float) -> None:
        super().__init__()
        self._loss = loss
        self.log_scale = nn.Parameter(torch.tensor(-math.log(temperature)))

    def forward(self, embeddings: Tensor, target: Tensor) -> tuple[Tensor, Tensor | float]:
        scale = self.log_scale.clamp(max=math.log(MAX_SCALE)).exp()
        return self._loss(embeddings, target, scale)
