"""Over groups of channels."""

from __future__ import annotations

from torch import nn

from torchstone.core.errors import StoneError

_LEAST = 2  # channels of a group: those of ResNet-50's first stage, 64, in 32 groups; 1 would be InstanceNorm


def group(channels: int, *, groups: int = 32) -> nn.Module:
    """GroupNorm: each example by itself, over groups of channels (Wu & He 2018): the same for any batch size.

    groups: at most so many; the largest number that divides the channels and leaves two or more in a group is taken.
    32 is the paper's choice (table 3).
    """
    if groups < 1:
        raise StoneError(f"groups is {groups}; it must be at least 1", where="norm")
    fitting = (n for n in range(min(groups, channels // _LEAST), 0, -1) if channels % n == 0)
    return nn.GroupNorm(next(fitting, 1), channels)
