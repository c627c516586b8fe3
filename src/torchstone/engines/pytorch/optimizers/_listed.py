"""Optimizers of our own that work on lists of tensors."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import torch

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.optimizers import Groups, with_gradients


class Listed(torch.optim.Optimizer, abc.ABC):
    """What takes one step for all tensors of a group that share device and type."""

    def __init__(self, groups: Groups, defaults: dict[str, Any]) -> None:
        if not all(0 <= beta < 1 for beta in defaults["betas"]):
            raise StoneError(f"betas are {defaults['betas']}; each must be from 0 to below 1", where="optimizer.betas")
        super().__init__(list(groups), defaults)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step from the gradients that are there; parameters without one stay."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for weights, gradients in with_gradients(group):
                self.move(weights, gradients, group)
        return loss

    @abc.abstractmethod
    def move(self, weights: list[torch.Tensor], gradients: list[torch.Tensor], group: dict[str, Any]) -> None:
        """Moves these weights along their gradients, with the options of their group."""
