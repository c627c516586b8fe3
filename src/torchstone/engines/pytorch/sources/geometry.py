"""Which part of each picture becomes the model's input.

Legend of axes: B pictures of a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Geometry:
    """What is done to each of B pictures.

    boxes: int64 [B, 4], left, top, width, height in pixels of the picture; the box is resized to the square input.
    flips: bool [B], left and right change places after that.
    shifts: int64 [B, 2], pixels of the input to the right and down; the edge is repeated. None: nobody moves.
    """

    boxes: np.ndarray
    flips: np.ndarray
    shifts: np.ndarray | None = None


# draw(count) gives float64 [B, count] in [0, 1); the same call for the same picture and epoch gives the same numbers.
Draw = Callable[[int], np.ndarray]
# (draw, heights int64 [B], widths int64 [B], size of the input in pixels) -> Geometry
Augment = Callable[[Draw, np.ndarray, np.ndarray, int], Geometry]


def whole(heights: np.ndarray, widths: np.ndarray) -> Geometry:
    """Every picture as it is."""
    zero = np.zeros_like(heights)
    return Geometry(np.stack([zero, zero, widths, heights], axis=1), np.zeros(len(heights), dtype=bool))


def centre(heights: np.ndarray, widths: np.ndarray, share: float) -> Geometry:
    """The square in the middle whose side is `share` (0 < share <= 1) of the shorter side."""
    side = np.maximum(1, np.rint(np.minimum(heights, widths) * share).astype(np.int64))
    boxes = np.stack([(widths - side) // 2, (heights - side) // 2, side, side], axis=1)
    return Geometry(boxes, np.zeros(len(heights), dtype=bool))
