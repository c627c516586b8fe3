"""Over the examples."""

from __future__ import annotations

from torch import nn


def batch(channels: int) -> nn.Module:
    """BatchNorm: each channel over all examples and places of a micro-batch (Ioffe & Szegedy 2015).

    Needs two examples or more at a time and suffers below 8 (Wu & He 2018, figure 1); in evaluation it takes the
    running statistics. Over several ranks see train.sync_batchnorm.
    """
    return nn.BatchNorm2d(channels)
