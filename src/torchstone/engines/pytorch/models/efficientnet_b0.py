"""EfficientNet-B0 of torchvision."""

from __future__ import annotations

from torch import nn

from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.pretrained import build


def efficientnet_b0(shape: Shape, *, weights: str | None = None) -> nn.Module:
    """EfficientNet-B0 (Tan & Le 2019): 5.3 million parameters, few operations, slow to train from scratch.

    weights: None (from scratch), a local .safetensors or .pth file, or `hub`: see `pretrained.build`.
    """
    return build("efficientnet_b0", shape, weights)
