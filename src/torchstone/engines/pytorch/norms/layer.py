"""Over all channels."""

from __future__ import annotations

from torch import nn


def layer(channels: int) -> nn.Module:
    """LayerNorm: each example by itself, over all channels and places (Ba et al. 2016), with a gain per channel.

    It is GroupNorm with one group, as Wu & He 2018 compare it; the same for any batch size.
    """
    return nn.GroupNorm(1, channels)
