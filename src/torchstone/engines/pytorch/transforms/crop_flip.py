"""Random crops and mirror images, for photographs."""

from __future__ import annotations

import numpy as np

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.sources.geometry import Augment, Draw, Geometry

_TRIES = 10


def crop_flip(*, smallest: float = 0.35, largest: float = 1.0, aspect: float = 4 / 3, flip: float = 0.5) -> Augment:
    """A random part of the picture, resized to the input, and its mirror image with probability `flip`.

    smallest, largest: share of the picture's area, 0 < smallest <= largest <= 1. Szegedy et al. 2015 use 0.08 to 1
        for 1.2 million photographs; small sets learn from larger parts.
    aspect: width to height of the part lies between 1/aspect and aspect, even in the logarithm, >= 1.
    """
    if not 0 < smallest <= largest <= 1:
        raise StoneError(f"smallest is {smallest}, largest {largest}; 0 < smallest <= largest <= 1 is needed",
                         where="image.augment")
    if aspect < 1 or not 0 <= flip <= 1:
        raise StoneError(f"aspect is {aspect} (>= 1 is needed), flip {flip} (0 to 1)", where="image.augment")
    reach = float(np.log(aspect))

    def augment(draw: Draw, heights: np.ndarray, widths: np.ndarray, size: int) -> Geometry:
        numbers = draw(2 * _TRIES + 3)
        area = (heights * widths)[:, None] * (smallest + (largest - smallest) * numbers[:, :_TRIES])
        ratio = np.exp((2 * numbers[:, _TRIES : 2 * _TRIES] - 1) * reach)
        sides = _first_that_fits(np.rint(np.sqrt(area * ratio)), np.rint(np.sqrt(area / ratio)), heights, widths)
        room = np.stack([widths, heights], axis=1) - sides
        corner = np.floor(numbers[:, -3:-1] * (room + 1)).astype(np.int64)
        return Geometry(np.concatenate([corner, sides], axis=1), numbers[:, -1] < flip)

    return augment


def _first_that_fits(wide: np.ndarray, high: np.ndarray, heights: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Width and height, int64 [B, 2]: the first try inside the picture, else the largest square."""
    fits = (wide >= 1) & (high >= 1) & (wide <= widths[:, None]) & (high <= heights[:, None])
    first, rows = fits.argmax(axis=1), np.arange(len(heights))
    square = np.minimum(heights, widths)
    some = fits[rows, first]
    return np.stack(
        [np.where(some, wide[rows, first], square), np.where(some, high[rows, first], square)], axis=1
    ).astype(np.int64)
