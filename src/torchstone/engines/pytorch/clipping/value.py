"""Each gradient entry on its own."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.clipping import Clipping


def value(*, most: float = 1.0) -> Clipping:
    """Limits every gradient entry to [-most, most]; it changes the gradient's direction, unlike a limit on the norm."""
    if most <= 0:
        raise StoneError(f"most is {most}; it must be above 0", where="clipping.most")

    def clip(parameters: Sequence[Tensor]) -> None:
        grads = [p.grad for p in parameters if p.grad is not None]
        torch._foreach_clamp_min_(grads, -most)
        torch._foreach_clamp_max_(grads, most)

    return clip
