"""Stochastic gradient descent with momentum."""

from __future__ import annotations

from typing import Any

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
    optimizer = torch.optim.SGD(
        groups, lr=lr, momentum=momentum, nesterov=nesterov, weight_decay=weight_decay, fused=can_fuse(groups)
    )
    if momentum:
        optimizer.register_step_pre_hook(_begin_late)
    return optimizer


@torch.no_grad()
def _begin_late(optimizer: torch.optim.Optimizer, *_: Any) -> None:
    """Sums of 0 for parameters with their first gradient: torch's fused step fails where only some have a sum (2.14).

    The step from a sum of 0 is the first step, bit for bit.
    """
    if len(optimizer.state) == sum(len(group["params"]) for group in optimizer.param_groups):
        return
    for group in optimizer.param_groups:
        for weight in group["params"]:
            if weight.grad is not None and weight not in optimizer.state:
                optimizer.state[weight]["momentum_buffer"] = torch.zeros_like(weight)
