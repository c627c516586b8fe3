"""Steps scaled by the size of recent gradients."""

from __future__ import annotations

import torch

from torchstone.engines.pytorch.optimizers import Groups


def rmsprop(
    groups: Groups,
    *,
    lr: float = 1e-3,
    alpha: float = 0.99,
    eps: float = 1e-8,
    momentum: float = 0.0,
    centered: bool = False,
    weight_decay: float = 0.0,
) -> torch.optim.Optimizer:
    """Gradient over the root of its running mean of squares (Tieleman & Hinton 2012, lecture 6e).

    lr: starting point, tune on your data. alpha: share of the mean that stays. centered: divides by the running
    standard deviation instead (Graves 2013). weight_decay: added to the gradient. torch's own implementation.
    """
    return torch.optim.RMSprop(
        list(groups), lr=lr, alpha=alpha, eps=eps, momentum=momentum, centered=centered, weight_decay=weight_decay
    )
