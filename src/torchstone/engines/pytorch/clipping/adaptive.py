"""Each unit's gradient against the size of its weights."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.clipping import Clipping

# Weights that are still zero get a gradient all the same (Brock et al. 2021, section 4.1).
SMALLEST_NORM = 1e-3


def adaptive(*, ratio: float = 0.01) -> Clipping:
    """Limits the norm of each unit's gradient to `ratio` times the norm of its weights (Brock et al. 2021, NFNets).

    A unit is a row of a weight matrix or an output channel; biases and other 1-D parameters are one unit per entry.
    """
    if ratio <= 0:
        raise StoneError(f"ratio is {ratio}; it must be above 0", where="clipping.ratio")

    @torch.no_grad()
    def clip(parameters: Sequence[Tensor]) -> None:
        for parameter in parameters:
            if parameter.grad is None:
                continue
            most = unit_norms(parameter).clamp_(min=SMALLEST_NORM) * ratio
            norms = unit_norms(parameter.grad).clamp_(min=1e-6)
            parameter.grad.mul_((most / norms).clamp_(max=1.0))

    return clip


def unit_norms(value: Tensor) -> Tensor:
    """The L2 norm of each unit, in a shape that broadcasts against `value`."""
    if value.ndim <= 1:
        return value.detach().abs()
    norms: Tensor = torch.linalg.vector_norm(value.detach(), dim=tuple(range(1, value.ndim)), keepdim=True)
    return norms
