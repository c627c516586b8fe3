"""What is wiped out of training pictures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from torchstone.engines.pytorch.sources.geometry import Draw

# (draw, pixels uint8 [B, S, S, C], the training part's mean colour uint8 [C]): changes the pixels in place; what
# happens to a picture depends on its numbers alone.
Erase = Callable[[Draw, np.ndarray, np.ndarray], None]
