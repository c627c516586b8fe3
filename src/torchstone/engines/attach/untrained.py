"""Frozen parts of a model whose weights still are what layers begin with: never trained, never loaded."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from torchstone.engines.attach.models import Models, Root
from torchstone.engines.attach.optimizers import Optimizers, first_values
from torchstone.engines.attach.recorder import Recorder
from torchstone.engines.attach.wheels import Wheel

# Steps of an optimizer at which frozen weights are looked at, and looked at again: it is seen whole up to step 16.
FIRST, AGAIN = 4, 14
# The least that a frozen part consists of: matrices and their numbers, and numbers of one to be judged by.
MATRICES, WEIGHTS, SMALLEST = 2, 1000, 64
# How near the largest weight of a fresh layer comes to its bound, and how far a kurtosis may be from a normal one's.
NEAR_BOUND, KURTOSIS = 0.95, 0.3
KINDS = (nn.Linear, nn.modules.conv._ConvNd)
NORMS = (nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.modules.batchnorm._BatchNorm)
LIBRARIES = ("transformers", "torchvision", "timm")


class Untrained:
    """A row "untrained" for each root that trains on top of a frozen part of fresh weights that stand still."""

    def __init__(self, recorder: Recorder, models: Models, optimizers: Optimizers) -> None:
        self.recorder, self._models, self._optimizers = recorder, models, optimizers
        self._kept: dict[int, tuple[dict[str, Any], list[tuple[Tensor, Tensor]]]] = {}
        optimizers.on_step.append(self._step)

    def _step(self, wheel: Wheel, row: dict[str, Any]) -> None:
        if wheel.steps == FIRST:
            moved = {number for one in self._optimizers.wheels() for number in one.ever}
            for root in self._models.roots:
                self._look(root, moved)
        elif wheel.steps == AGAIN:
            for index, (seen, kept) in list(self._kept.items()):
                del self._kept[index]
                if all(torch.equal(first_values(w), old) and not w.requires_grad for w, old in kept):
                    self.recorder.note("untrained", root=index, **seen)

    def _look(self, root: Root, moved: set[int]) -> None:
        module = root.ref()
        if module is None or not root.forwards_with_grad or any(hasattr(p, "to_local") for p in module.parameters()):
            return
        layers = frozen_layers(module)
        if layers and not any(id(layer.weight) in moved for layer in layers) and is_fresh(module, layers):
            kept = [(layer.weight, first_values(layer.weight).clone()) for layer in layers]
            num = sum(p.numel() for p in module.parameters() if not p.requires_grad)
            trained = sum(p.numel() for p in module.parameters() if p.requires_grad)
            self._kept[root.index] = {"num": len(layers), "weights": num, "trained": trained, "layer": name_of(
                module, layers[0]), "library": library(module)}, kept  # fmt: skip


def frozen_layers(module: nn.Module) -> list[Any]:
    """The frozen matrices of a model, where they are more than half of what its matrices hold; else nothing."""
    every = [m for m in module.modules() if isinstance(m, KINDS) and m.weight.numel() >= SMALLEST]
    frozen = [m for m in every if not m.weight.requires_grad]
    num = sum(m.weight.numel() for m in frozen)
    is_most = num > sum(m.weight.numel() for m in every) / 2
    return frozen if len(frozen) >= MATRICES and num >= WEIGHTS and is_most else []


@torch.no_grad()
def is_fresh(module: nn.Module, layers: list[Any]) -> bool:
    """Whether these layers, and all frozen norms, hold what they begin with.

    Norms begin with scales of 1 and offsets of 0. Matrices are torch's own uniform ones, within 1/sqrt(fan in); beside
    such norms also uniform or normal ones of any size, with offsets of 0.
    """
    norms = [m for m in module.modules() if isinstance(m, NORMS) and m.weight is not None]
    norms = [m for m in norms if not m.weight.requires_grad]
    for norm in norms:
        bias = getattr(norm, "bias", None)
        if bool((norm.weight != 1).any()) or (bias is not None and bool((bias != 0).any())):
            return False
    return all(is_torchs_own(one) or (bool(norms) and is_drawn(one)) for one in layers)


def is_torchs_own(layer: Any) -> bool:
    """Whether weights and offsets lie within 1/sqrt(fan in), and the largest weight close to it."""
    weight = layer.weight.detach().float()
    bound = weight[0].numel() ** -0.5
    if isinstance(layer, nn.modules.conv._ConvTransposeNd):
        bound = (weight.shape[1] * weight[0, 0].numel()) ** -0.5
    largest = float(weight.abs().max())
    offset = 0.0 if layer.bias is None else float(layer.bias.detach().abs().max())
    return bool(NEAR_BOUND * bound < largest <= bound * 1.00001 and offset <= bound * 1.00001)


def is_drawn(layer: Any) -> bool:
    """Whether weights are spread like draws of a normal or a uniform distribution around 0, and offsets are 0."""
    values = layer.weight.detach().float().reshape(-1)
    std = values.std()
    if not bool(std > 0) or (layer.bias is not None and bool((layer.bias != 0).any())):
        return False
    if float(values.mean().abs() / std) > 5 * len(values) ** -0.5:
        return False
    kurtosis = float(((values - values.mean()) / std).pow(4).mean())
    slack: float = KURTOSIS + 4 * (24 / len(values)) ** 0.5
    return abs(kurtosis - 3.0) < slack or abs(kurtosis - 1.8) < slack / 2


def name_of(module: nn.Module, part: nn.Module) -> str:
    """The name of a part."""
    return next((name for name, one in module.named_modules() if one is part), "")


def library(module: nn.Module) -> str | None:
    """The library of pretrained models of which a part comes; None where all is of the script's own making."""
    return next((name for one in module.modules() for name in LIBRARIES if type(one).__module__.startswith(name)), None)
