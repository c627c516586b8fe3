"""One process, one device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn


class Single:
    """Nothing to agree on."""

    rank = 0
    world = 1

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model on the device."""
        return model.to(self.device)

    def share(self, optimizer: torch.optim.Optimizer) -> None:
        """One process keeps all of its state."""

    def whole(self, state: dict[str, Any]) -> dict[str, Any]:
        """The state itself."""
        return state

    def own(self, state: dict[str, Any]) -> dict[str, Any]:
        """The state itself."""
        return state

    def before_backward(self, is_last: bool) -> None:
        """Nothing travels."""

    def reduce_gradients(self) -> None:
        """They are whole already."""

    def sums(self, values: Sequence[float]) -> list[float]:
        """The values themselves."""
        return list(values)

    def gather(self, value: Tensor) -> list[Tensor]:
        """The tensor itself."""
        return [value]

    def agreed(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The tensors themselves."""
        return dict(tensors)

    def barrier(self) -> None:
        """Nobody to wait for."""

    def close(self) -> None:
        """Nothing to leave."""


def single(device: torch.device) -> Single:
    """One process."""
    return Single(device)
