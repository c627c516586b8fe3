"""ConvNeXt-T of torchvision."""

from __future__ import annotations

from torch import nn

from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.pretrained import build


def convnext_tiny(shape: Shape, *, weights: str | None = None) -> nn.Module:
    """ConvNeXt-T (Liu et al. 2022): 28.6 million parameters, large kernels and LayerNorm; made for 224 pixels.

    weights: None (from scratch), a local .safetensors or .pth file, or `hub`: see `pretrained.build`.
    """
    return build("convnext_tiny", shape, weights)
