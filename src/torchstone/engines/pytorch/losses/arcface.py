"""Classes as directions, with an angle kept free around each."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.losses import IGNORES_NONE, Loss, full, made_for
from torchstone.engines.pytorch.losses._pairs import products, unit


class CosineHead(nn.Module):
    """A last layer that gives the cosine of each embedding [B, D] with each of K class directions: [B, K]."""

    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(num_classes, num_features) / math.sqrt(num_features))

    def forward(self, embeddings: Tensor) -> Tensor:
        return products(unit(full(embeddings)), unit(full(self.weight)))


@made_for("cosines")
def arcface(*, margin: float = 0.5, scale: float = 64.0, embedding: int = 128) -> Loss:
    """Cross-entropy of scaled cosines after the angle to the right class was made larger by `margin`, summed.

    The weights of the head belong to the model: a run by recipe ends it with a `CosineHead`; in a loop of your own
    end it with `CosineHead(D, K)` from this file, so that they are trained, saved and used for predictions like the
    rest. The loss takes its cosines [B, K] and int64 targets [B]; the weight counts examples. With margin 0 it is
    cross-entropy of scale * cosines, which are also the logits to predict with. Raises StoneError for other shapes,
    and at its first batch for numbers that are no cosines. Source: Deng et al. 2019; past an angle of pi - margin the
    cosine falls on along the line of their published code.

    margin: radians, 0 to below pi / 2. scale: above 0. Both defaults are the paper's.
    embedding: D, with which a run by recipe builds the model below the head: starting point, tune on your data.
    """
    if not 0 <= margin < math.pi / 2 or not scale > 0:
        raise StoneError(f"margin {margin:g}, scale {scale:g}: margin must be from 0 to below pi/2, scale above 0",
                         where="loss", fix="leave them out for 0.5 and 64")
    if embedding < 2:
        raise StoneError(f"embedding is {embedding}; it must be 2 or more", where="loss.embedding", fix="start at 128")
    is_checked = False

    def loss(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor | float]:
        nonlocal is_checked
        cosines = full(logits)
        if not is_checked:
            _check(cosines, target)
            is_checked = True
        right = cosines.gather(1, target[:, None])
        moved = torch.where(right > math.cos(math.pi - margin), _moved(right, margin), right - _drop(margin))
        angled = scale * cosines.scatter(1, target[:, None], moved)
        total = functional.cross_entropy(angled, target, ignore_index=IGNORES_NONE, reduction="sum")
        return total, float(len(target))

    return loss


def _moved(cosines: Tensor, margin: float) -> Tensor:
    """cos(angle + margin), without the angle: its derivative is infinite at a cosine of 1, here it is cut off."""
    sines = (1 - cosines.square()).clamp_min(torch.finfo(cosines.dtype).eps).sqrt()
    return cosines * math.cos(margin) - sines * math.sin(margin)


def _drop(margin: float) -> float:
    return math.sin(math.pi - margin) * margin


def _check(cosines: Tensor, target: Tensor) -> None:
    if cosines.ndim != 2 or target.shape != cosines.shape[:1] or target.is_floating_point():
        raise StoneError(
            f"the model gives {tuple(cosines.shape)}, the target has shape {tuple(target.shape)}; arcface needs "
            "cosines [B, K] and class indices [B]", where="loss",
        )  # fmt: skip
    largest = float(cosines.detach().abs().max()) if cosines.numel() else 0.0
    if largest > 1.01:  # bfloat16 rounds 1 to at most 1.0078
        raise StoneError(f"the model gives {largest:.4g}; arcface needs cosines, from -1 to 1", where="loss",
                         fix="end the model with losses.arcface.CosineHead(features, classes)")
