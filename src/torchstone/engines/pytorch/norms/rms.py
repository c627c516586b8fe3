"""Over all channels, without a mean."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class MapRms(nn.Module):
    """Maps [B, C, S, S] divided by the root of their mean square, times a gain per channel."""

    def __init__(self, channels: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.eps = eps

    def forward(self, inputs: Tensor) -> Tensor:
        axes = list(range(1, inputs.dim()))
        # squares of half precision overflow
        square = inputs.float().square().mean(axes, keepdim=True)
        scale = torch.rsqrt(square + self.eps) * self.weight.float().view(1, -1, *[1] * (inputs.dim() - 2))
        return (inputs * scale).to(inputs.dtype)


def rms(channels: int) -> nn.Module:
    """RMSNorm: each example by itself, divided by the root of its mean square (Zhang & Sennrich 2019).

    No mean is taken off and there is no bias. Over all channels and places, with a gain per channel; the same for any
    batch size.
    """
    return MapRms(channels)
