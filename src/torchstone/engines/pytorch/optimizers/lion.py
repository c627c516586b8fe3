"""Steps of one size, along signs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.optimizers import Groups, with_gradients


def lion(
    groups: Groups,
    *,
    lr: float = 1e-4,
    betas: tuple[float, float] = (0.9, 0.99),
    weight_decay: float = 0.0,
) -> torch.optim.Optimizer:
    """The sign of gradient and momentum mixed, and decoupled weight decay (Chen et al. 2023, algorithm 2).

    Keeps one number per weight, half of what adamw keeps. lr: starting point, tune on your data; the paper takes 3
    to 10 times less than for adamw, and as many times more weight_decay. betas: of the step and of the momentum.
    weight_decay: of groups without their own; a step takes lr * weight_decay of each weight.
    """
    return Lion(list(groups), {"lr": lr, "betas": betas, "weight_decay": weight_decay})


class Lion(torch.optim.Optimizer):
    """Lion over lists of tensors; its state is `momentum`, in the type of the weight."""

    def __init__(self, groups: list[dict[str, Any]], defaults: dict[str, Any]) -> None:
        if not all(0 <= beta < 1 for beta in defaults["betas"]):
            raise StoneError(f"betas are {defaults['betas']}; each must be from 0 to below 1", where="optimizer.betas")
        super().__init__(groups, defaults)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step from the gradients that are there; parameters without one stay."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for weights, gradients in with_gradients(group):
                self._move(weights, gradients, group)
        return loss

    def _move(self, weights: list[torch.Tensor], gradients: list[torch.Tensor], group: dict[str, Any]) -> None:
        for weight in weights:
            if not self.state[weight]:
                self.state[weight]["momentum"] = torch.zeros_like(weight)
        momenta = [self.state[weight]["momentum"] for weight in weights]
        mix, keep = group["betas"]
        steps = torch._foreach_lerp(momenta, gradients, 1 - mix)
        torch._foreach_sign_(steps)
        if group["weight_decay"]:
            torch._foreach_mul_(weights, 1 - group["lr"] * group["weight_decay"])
        torch._foreach_add_(weights, steps, alpha=-group["lr"])
        torch._foreach_lerp_(momenta, gradients, 1 - keep)
