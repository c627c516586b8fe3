"""Adam as published, with weight decay in the gradient."""

from __future__ import annotations

import torch

from torchstone.engines.pytorch.optimizers import Groups, can_fuse


def adam(
    groups: Groups,
    *,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
) -> torch.optim.Optimizer:
    """Steps scaled by running means of the gradient and of its square (Kingma & Ba 2015).

    lr: starting point, tune on your data. weight_decay: added to the gradient, hence scaled like it; use adamw for
    a decay that means the same for every weight. Fused where the device has it, also on CPU.
    """
    groups = list(groups)
    return torch.optim.Adam(groups, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, fused=can_fuse(groups))
