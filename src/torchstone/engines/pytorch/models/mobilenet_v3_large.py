"""MobileNetV3-Large of torchvision."""

from __future__ import annotations

from torch import nn

from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.pretrained import build


def mobilenet_v3_large(shape: Shape, *, weights: str | None = None, dropout: float = 0.2) -> nn.Module:
    """MobileNetV3-Large (Howard et al. 2019): 5.5 million parameters, made for phones.

    weights: None (from scratch), a local .safetensors or .pth file, or `hub`: see `pretrained.build`.
    dropout: before the last layer, 0 to below 1.
    """
    return build("mobilenet_v3_large", shape, weights, drops={"dropout": dropout})
