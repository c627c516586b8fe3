"""ResNet-50 of torchvision."""

from __future__ import annotations

from typing import Literal

from torch import nn

from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.pretrained import build


def resnet50(
    shape: Shape, *, weights: str | None = None, norm: Literal["batch", "group", "layer", "rms"] = "batch"
) -> nn.Module:
    """ResNet-50 (He et al. 2016, in the variant of torchvision): 25.6 million parameters, bottleneck blocks.

    weights: None (from scratch), a local .safetensors or .pth file, or `hub`: see `pretrained.build`.
    norm: `batch`, or without weights and for fewer than 8 pictures at a time `group`, `layer` or `rms`, which look at
    each picture alone: see the parts in `norms`.
    """
    return build("resnet50", shape, weights, norm=norm)
