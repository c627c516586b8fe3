"""Other ways to clip gradients than by their common norm (`train.clip_norm`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

# Changes the gradients of the parameters in place, after the division by the total weight.
Clipping = Callable[[Sequence["Tensor"]], None]
