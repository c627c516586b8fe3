"""What keeps the activations of a network in bounds: norms by name, for pictures and for vectors."""

from __future__ import annotations

from typing import Literal

from torch import nn

from torchstone.core import catalog

# Of maps [B, C, S, S], over the files of this folder; of vectors [B, D] or [B, T, D].
Norm = Literal["batch", "group", "layer", "rms", "none"]
VectorNorm = Literal["layer", "rms", "none"]


def norm_of(name: Norm, channels: int) -> nn.Module:
    """The norm of that name for maps with C = channels."""
    made: nn.Module = catalog.find(__name__, name)(channels)
    return made


def vector_norm_of(name: VectorNorm, width: int) -> nn.Module:
    """The norm of that name over the last axis, D = width: LayerNorm (Ba et al. 2016), RMSNorm, or nothing."""
    if name == "none":
        return nn.Identity()
    return nn.LayerNorm(width) if name == "layer" else nn.RMSNorm(width)


def set_gain_to_zero(norm: nn.Module) -> bool:
    """Lets a norm give zeros at the start; False where it has no gain (`none`)."""
    gain = getattr(norm, "weight", None)
    if not isinstance(gain, nn.Parameter):
        return False
    nn.init.zeros_(gain)
    return True
