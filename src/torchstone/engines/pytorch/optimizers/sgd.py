"""Stochastic gradient descent with momentum."""

from __future__ import annotations

import torch

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.optimizers import Groups, can_fuse


def sgd(
    groups: Groups, *, lr: float = 0.1, momentum: float = 0.9, nesterov: bool = False, weight_decay: float = 0.0
) -> torch.optim.Optimizer:
    """Steps along a running sum of gradients.

    lr: starting point, tune on your data. momentum: share of the last step that goes on, 0 to below 1.
    nesterov: looks one step ahead (Sutskever et al. 2013); raises StoneError without momentum.
    weight_decay: added to the gradient. Fused where the device has it, also on CPU.
    """
    if nesterov and momentum <= 0:
        raise StoneError(f"nesterov needs momentum above 0; it is {momentum:g}", where="optimizer.momentum",
                         fix="set momentum to 0.9 or nesterov to false")
    groups = list(groups)
    return torch.optim.SGD(
        groups, lr=lr, momentum=momentum, nesterov=nesterov, weight_decay=weight_decay, fused=can_fuse(groups)
    )
