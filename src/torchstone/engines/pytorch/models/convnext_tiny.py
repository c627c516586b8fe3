"""ConvNeXt-T of torchvision."""

from __future__ import annotations

from torch import nn

from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.pretrained import build


def convnext_tiny(shape: Shape, *, weights: str | None = None, stochastic_depth: float = 0.1) -> nn.Module:
    """ConvNeXt-T (Liu et al. 2022): 28.6 million parameters, large kernels and LayerNorm; made for 224 pixels.

    weights: None (from scratch), a local .safetensors or .pth file, or `hub`: see `pretrained.build`.
    stochastic_depth: probability that the last block is left out for a training picture, less for earlier ones
    (Huang et al. 2016); 0.1 is the paper's; 0 to below 1.
    """
    return build("convnext_tiny", shape, weights, drops={"stochastic_depth_prob": stochastic_depth})
