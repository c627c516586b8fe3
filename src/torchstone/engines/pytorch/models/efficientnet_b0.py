"""EfficientNet-B0 of torchvision."""

from __future__ import annotations

from torch import nn

from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.pretrained import build


def efficientnet_b0(
    shape: Shape, *, weights: str | None = None, dropout: float = 0.2, stochastic_depth: float = 0.2
) -> nn.Module:
    """EfficientNet-B0 (Tan & Le 2019): 5.3 million parameters, few operations, slow to train from scratch.

    weights: None (from scratch), a local .safetensors or .pth file, or `hub`: see `pretrained.build`.
    dropout: before the last layer. stochastic_depth: probability that the last block is left out for a training
    picture, less for earlier ones (Huang et al. 2016). Both 0.2 in the paper; 0 to below 1.
    """
    drops = {"dropout": dropout, "stochastic_depth_prob": stochastic_depth}
    return build("efficientnet_b0", shape, weights, drops=drops)
