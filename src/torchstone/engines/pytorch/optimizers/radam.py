"""Adam that warms itself up."""

from __future__ import annotations

import torch

from torchstone.engines.pytorch.optimizers import Groups


def radam(
    groups: Groups,
    *,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
) -> torch.optim.Optimizer:
    """Adam whose first steps are plain momentum until the mean of squares can be trusted (Liu et al. 2020).

    Needs no warm-up of the schedule. Weight decay acts on the weights as in adamw. lr: starting point, tune on your
    data. betas, eps: the paper's. weight_decay: of groups without their own. torch's own implementation.
    """
    return torch.optim.RAdam(
        list(groups), lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, decoupled_weight_decay=True
    )
