"""The single operations of RandAugment and TrivialAugment, and how strong each may be.

Legend of axes: C channels, S side of a picture in pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from torchstone.core.errors import StoneError

Interpolation = Literal["nearest", "bilinear"]
# side of the picture in pixels -> strengths from none to full, one per bin; None: the operation has no strength
Strengths = Callable[[int], Tensor | None]
BINS = 31  # strengths per operation, 0 to 30, in both papers
# Operations whose strength may go either way.
SIGNED = frozenset(
    ("shear_x", "shear_y", "translate_x", "translate_y", "rotate", "brightness", "color", "contrast", "sharpness")
)


@dataclass(frozen=True, slots=True)
class Look:
    """How moved pixels are read, and the grey value, 0 to 255, of places that the picture no longer covers."""

    interpolation: Interpolation
    fill: int

    def __post_init__(self) -> None:
        if not 0 <= self.fill <= 255:
            raise StoneError(f"fill is {self.fill}; it must be from 0 to 255", where="image.distort.fill")

    @property
    def filled(self) -> list[int] | None:
        """The fill for torchvision, where black comes by itself and any other value costs a mask."""
        return [self.fill] if self.fill else None


def linear(full: float, none: float = 0.0) -> Strengths:
    """Strengths in equal steps, the same for every size."""
    return lambda size: torch.linspace(none, full, BINS)


def share_of_side(full: float) -> Strengths:
    """Strengths in equal steps up to a share of the side."""
    return lambda size: torch.linspace(0.0, full * size, BINS)


def bits(fewest: int) -> Strengths:
    """Bits that stay of each colour value, from 8 down."""
    return lambda size: (8 - torch.arange(BINS) / ((BINS - 1) / (8 - fewest))).round().int()


def no_strength(size: int) -> None:
    """For operations that are done or not."""
    return None


def distort_one(pixels: np.ndarray, name: str, strength: float, look: Look) -> np.ndarray:
    """One picture, uint8 [S, S, C], after the operation `name` (a key of a paper's space): uint8 [S, S, C].

    strength: as in the space; its sign is the direction. A grey picture has no colour: `color` leaves it as it is.
    """
    if name == "identity":
        return pixels
    picture = torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))
    changed: Tensor = _APPLY[name](_functional(), picture, strength, look)
    return changed.numpy().transpose(1, 2, 0)


def _functional() -> Any:
    from torchvision.transforms.v2 import functional

    return functional


def _affine(
    functional: Any, picture: Tensor, look: Look, *, shear: tuple[float, float] = (0, 0), move: tuple[int, int] = (0, 0)
) -> Any:
    # the shear is given as a slope and keeps the upper left corner, as in AutoAugment's code
    degrees = [math.degrees(math.atan(slope)) for slope in shear]
    return functional.affine(
        picture, angle=0.0, translate=list(move), scale=1.0, shear=degrees, fill=look.filled,
        interpolation=_mode(look), center=[0, 0] if any(shear) else None,
    )  # fmt: skip


def _mode(look: Look) -> Any:
    from torchvision.transforms import InterpolationMode

    return InterpolationMode(look.interpolation)


def _contrast(functional: Any, picture: Tensor, strength: float, look: Look) -> Tensor:
    # The sum is one of whole numbers, which is exact: in float32 it could depend on how many threads share the pixels,
    # and so on the number of workers.
    shades = functional.rgb_to_grayscale(picture)
    grey = torch.tensor(int(shades.sum()) / shades.numel(), dtype=torch.float32)
    return picture.mul(1.0 + strength).add_(grey, alpha=-strength).clamp_(0, 255).to(torch.uint8)


_APPLY: Mapping[str, Callable[[Any, Tensor, float, Look], Any]] = {
    "shear_x": lambda f, p, s, look: _affine(f, p, look, shear=(s, 0.0)),
    "shear_y": lambda f, p, s, look: _affine(f, p, look, shear=(0.0, s)),
    "translate_x": lambda f, p, s, look: _affine(f, p, look, move=(int(s), 0)),
    "translate_y": lambda f, p, s, look: _affine(f, p, look, move=(0, int(s))),
    "rotate": lambda f, p, s, look: f.rotate(p, angle=s, interpolation=_mode(look), fill=look.filled),
    "brightness": lambda f, p, s, look: f.adjust_brightness(p, brightness_factor=1.0 + s),
    "color": lambda f, p, s, look: f.adjust_saturation(p, saturation_factor=1.0 + s),
    "contrast": _contrast,
    "sharpness": lambda f, p, s, look: f.adjust_sharpness(p, sharpness_factor=1.0 + s),
    "posterize": lambda f, p, s, look: f.posterize(p, bits=int(s)),
    "solarize": lambda f, p, s, look: f.solarize(p, threshold=255 * s),
    "auto_contrast": lambda f, p, s, look: f.autocontrast(p),
    "equalize": lambda f, p, s, look: f.equalize(p),
}
