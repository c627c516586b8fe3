"""What colours and shapes of training pictures are changed to, after the cut."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from torchstone.engines.pytorch.sources.geometry import Draw

# (draw, pixels uint8 [B, S, S, C]): changes the pixels in place; what happens to a picture depends on its numbers and
# its pixels alone, so that it comes out the same in any batch, worker or rank.
Distort = Callable[[Draw, np.ndarray], None]
