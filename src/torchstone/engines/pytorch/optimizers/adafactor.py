"""Adam with little memory."""

from __future__ import annotations

import torch

from torchstone.engines.pytorch.optimizers import Groups


def adafactor(
    groups: Groups,
    *,
    lr: float = 1e-2,
    beta2_decay: float = -0.8,
    clip: float = 1.0,
    weight_decay: float = 0.0,
) -> torch.optim.Optimizer:
    """Steps scaled by row and column means of squared gradients, relative to the weights (Shazeer & Stern 2018).

    Keeps n + m numbers for an n x m matrix, where Adam keeps 2 n m; no momentum. lr: at most; a step takes
    min(lr, 1 / sqrt(step)) times the root mean square of each weight tensor (at least 1e-3): starting point, tune on
    your data. beta2_decay: exponent of the running mean, below 0. clip: largest root mean square of an update, 1 or
    above. weight_decay: decoupled; of groups without their own. torch's own implementation.
    """
    return torch.optim.Adafactor(
        list(groups), lr=lr, beta2_decay=beta2_decay, d=clip, weight_decay=weight_decay
    )
