"""timm's names in torchvision's words, where the two networks compute the same.

Compared on random weights with timm 1.0.31 and torchvision 0.29.1 (2026-12-02): equal logits for ResNet (whose names
are the same), EfficientNet-B0 and ConvNeXt-T.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from torch import Tensor

from torchstone.core.errors import StoneError

# EfficientNet: the layers of a block with expansion, and of the first stage, which has none.
_EXPANDED = {"conv_pw": "0.0", "bn1": "0.1", "conv_dw": "1.0", "bn2": "1.1", "se.conv_reduce": "2.fc1",
             "se.conv_expand": "2.fc2", "conv_pwl": "3.0", "bn3": "3.1"}  # fmt: skip
_DIRECT = {"conv_dw": "0.0", "bn1": "0.1", "se.conv_reduce": "1.fc1", "se.conv_expand": "1.fc2", "conv_pw": "2.0",
           "bn2": "2.1"}  # fmt: skip
_EFFICIENT_ENDS = {"conv_stem": "features.0.0", "bn1": "features.0.1", "conv_head": "features.8.0",
                   "bn2": "features.8.1", "classifier": "classifier.1"}  # fmt: skip
_CONVNEXT = {"conv_dw": "block.0", "norm": "block.2", "mlp.fc1": "block.3", "mlp.fc2": "block.5"}
_CONVNEXT_ENDS = {"stem.0": "features.0.0", "stem.1": "features.0.1", "head.norm": "classifier.0",
                  "head.fc": "classifier.2"}  # fmt: skip


def from_timm(given: Mapping[str, Tensor], own: Collection[str], where: str) -> dict[str, Tensor] | None:
    """The tensors under torchvision's names; None where they are not timm's, or the model is not torchvision's.

    Raises StoneError for timm's MobileNetV3: with the same weights it computes something else.
    """
    if "features.0.0.weight" not in own:
        return None
    if "stages.0.blocks.0.conv_dw.weight" in given and "stem.1.weight" in given:
        return _renamed(given, _of_convnext)
    if "conv_stem.weight" not in given or not any(name.startswith("blocks.0.0.") for name in given):
        return None
    if "conv_head.bias" in given and "classifier.3.weight" in own:
        raise StoneError(
            "these are timm's names of a MobileNetV3, whose BatchNorm has eps 1e-5; torchvision's has 1e-3, so that "
            "the same weights give other outputs", where=where,
            fix="give torchvision's own weights of this network, or take resnet18, efficientnet_b0 or convnext_tiny",
        )  # fmt: skip
    return _renamed(given, _of_efficientnet) if "bn2.weight" in given else None


def _renamed(given: Mapping[str, Tensor], rename: Callable[[str], str]) -> dict[str, Tensor]:
    found = {}
    for name, value in given.items():
        new = rename(name)
        # ConvNeXt's scale of a block: [C] there, [C, 1, 1] here
        found[new] = value.reshape(-1, 1, 1) if new.endswith(".layer_scale") and value.ndim == 1 else value
    return found


def _of_convnext(name: str) -> str:
    layer, _, leaf = name.rpartition(".")
    if layer in _CONVNEXT_ENDS:
        return f"{_CONVNEXT_ENDS[layer]}.{leaf}"
    if found := re.fullmatch(r"stages\.(\d+)\.downsample\.(\d)\.(\w+)", name):
        return f"features.{2 * int(found[1])}.{found[2]}.{found[3]}"
    if found := re.fullmatch(r"stages\.(\d+)\.blocks\.(\d+)\.(.+)", name):
        start, inner = f"features.{2 * int(found[1]) + 1}.{found[2]}", found[3]
        if inner == "gamma":
            return f"{start}.layer_scale"
        part, _, leaf = inner.rpartition(".")
        return f"{start}.{_CONVNEXT.get(part, part)}.{leaf}"
    return name


def _of_efficientnet(name: str) -> str:
    layer, _, leaf = name.rpartition(".")
    if layer in _EFFICIENT_ENDS:
        return f"{_EFFICIENT_ENDS[layer]}.{leaf}"
    if found := re.fullmatch(r"blocks\.(\d+)\.(\d+)\.(.+)\.(\w+)", name):
        words = _DIRECT if found[1] == "0" else _EXPANDED
        return f"features.{int(found[1]) + 1}.{found[2]}.block.{words.get(found[3], found[3])}.{found[4]}"
    return name
