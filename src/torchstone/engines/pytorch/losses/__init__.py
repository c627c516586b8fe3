"""Losses: each returns (sum, weight), so that gradients can be divided once by the true total."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

# logits [B, K], target → (sum over the targets that count, their total weight: a number or a 0-dim tensor)
Loss = Callable[["Tensor", "Tensor"], "tuple[Tensor, Tensor | float]"]
