"""Residual blocks that start as identities."""

from __future__ import annotations

from collections.abc import Set

import torch
from torch import nn

from torchstone.engines.pytorch.inits import Init


def zero_residual() -> Init:
    """The gain of each residual block's last norm starts at 0, so that the block starts as an identity.

    (Goyal et al. 2017, section 5.1.) For torchvision's ResNets, which start at 1; small_resnet starts so by itself.
    """

    def init(model: nn.Module, fresh: Set[str], generator: torch.Generator) -> list[str]:
        done = []
        for name, module in model.named_modules():
            last = _last_norm(module)
            inner = f"{name}.{last}.weight" if name else f"{last}.weight"
            if last is not None and inner in fresh:
                nn.init.zeros_(module.get_submodule(last).weight)
                done.append(inner)
        return done

    return init


def _last_norm(module: nn.Module) -> str | None:
    """The name of the norm whose output a block adds to its input; None where the module is no such block."""
    from torchvision.models.resnet import BasicBlock, Bottleneck

    if isinstance(module, Bottleneck):
        return "bn3"
    return "bn2" if isinstance(module, BasicBlock) else None
