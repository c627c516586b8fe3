"""Adam with decoupled weight decay."""

from __future__ import annotations

import torch

from torchstone.engines.pytorch.optimizers import Groups, can_fuse


def adamw(
    groups: Groups,
    *,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.01,
) -> torch.optim.Optimizer:
    """Adam whose weight decay acts on the weights, not through the gradient (Loshchilov & Hutter 2019).

    lr: starting point, tune on your data. betas, eps: the paper's. weight_decay: of groups without their own;
    a step takes lr * weight_decay of each weight. Fused where the device has it, also on CPU.
    """
    groups = list(groups)
    return torch.optim.AdamW(groups, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, fused=can_fuse(groups))
