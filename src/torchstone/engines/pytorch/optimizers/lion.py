"""Steps of one size, along signs."""

from __future__ import annotations

from typing import Any

import torch

from torchstone.engines.pytorch.optimizers import Groups
from torchstone.engines.pytorch.optimizers._listed import Listed


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
    return Lion(groups, {"lr": lr, "betas": betas, "weight_decay": weight_decay})


class Lion(Listed):
    """Lion over lists of tensors; its state is `momentum`, in the type of the weight."""

    def move(self, weights: list[torch.Tensor], gradients: list[torch.Tensor], group: dict[str, Any]) -> None:
        """Along the signs of gradient and momentum mixed, one size for all."""
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
