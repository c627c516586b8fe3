"""AdamW whose memory is a quarter."""

from __future__ import annotations

import torch

from torchstone.core.errors import StoneError, missing_extra
from torchstone.engines.pytorch.optimizers import Groups


def adamw_8bit(
    groups: Groups,
    *,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.01,
) -> torch.optim.Optimizer:
    """AdamW that keeps its means in 8 bits, block by block (Dettmers et al. 2022), by bitsandbytes.

    Tensors below 4,096 weights keep 32 bits. lr: starting point, tune on your data. betas, eps: AdamW's own.
    weight_decay: of groups without their own. Raises StoneError without the extra `eightbit`, and where weights lie
    on a CPU, for which bitsandbytes has no such step.
    """
    try:
        from bitsandbytes.optim import AdamW8bit
    except ImportError:
        raise missing_extra("bitsandbytes", "eightbit", "the optimizer adamw_8bit") from None
    groups = list(groups)
    if any(parameter.device.type == "cpu" for group in groups for parameter in group["params"]):
        raise StoneError("adamw_8bit has no step for weights on a CPU", where="optimizer", fix="use adamw or adafactor")
    made: torch.optim.Optimizer = AdamW8bit(groups, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
    return made
