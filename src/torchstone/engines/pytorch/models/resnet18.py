"""ResNet-18 of torchvision."""

from __future__ import annotations

from typing import Literal

from torch import nn

from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.pretrained import build


def resnet18(
    shape: Shape, *, weights: str | None = None, stem: Literal["small", "standard"] = "standard",
    norm: Literal["batch", "group", "layer", "rms"] = "batch",
) -> nn.Module:  # fmt: skip
    """ResNet-18 (He et al. 2016): 11.7 million parameters.

    weights: None (from scratch), a local .safetensors or .pth file, or `hub`: see `pretrained.build`.
    stem: `standard` shrinks the picture by 4 before the first block; `small` keeps its side, for pictures of at most
    about 64 pixels, and then does not take the first layer of given weights.
    norm: `batch`, or without weights and for fewer than 8 pictures at a time `group`, `layer` or `rms`, which look at
    each picture alone: see the parts in `norms`.
    """
    return build("resnet18", shape, weights, small_stem=stem == "small", norm=norm)
