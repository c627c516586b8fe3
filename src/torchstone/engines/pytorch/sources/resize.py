"""Cutting and resizing uint8 pictures, with OpenCV where it is installed and with Pillow where it is not.

The two give slightly different pixels, so the name of the one in use is a part of the input encoding.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from torchstone.core.errors import StoneError, missing_extra
from torchstone.engines.pytorch.sources.geometry import Geometry

Resizer = Literal["cv2", "pillow"]


@dataclass(frozen=True, slots=True)
class Resizing:
    """resize(picture uint8 [h, w, C], out uint8 [H, W, C], contiguous) fills out; mirror(out) turns it in place."""

    resize: Callable[[np.ndarray, np.ndarray], None]
    mirror: Callable[[np.ndarray], None]


def installed() -> Resizer:
    """The faster of the two that is here: `cv2` (extra `image`), else `pillow`."""
    return "cv2" if importlib.util.find_spec("cv2") else "pillow"


def resizing(resizer: str) -> Resizing:
    """The functions behind a resizer's name; raises StoneError where OpenCV is wanted and missing."""
    if resizer == "pillow":
        return Resizing(_with_pillow, _mirror)
    if resizer != "cv2":
        raise StoneError(f"no resizer is called '{resizer}'; known: cv2, pillow")
    if not importlib.util.find_spec("cv2"):
        raise missing_extra("opencv-python-headless", "image", "a model whose pictures were resized by OpenCV")
    return _opencv()


def _opencv() -> Resizing:
    import cv2

    # pictures of a batch are too small to share out, and OpenCV's own threads do not survive a fork
    cv2.setNumThreads(1)

    def resize(picture: np.ndarray, out: np.ndarray) -> None:
        (h, w), (height, width) = picture.shape[:2], out.shape[:2]
        # linear reads 2 x 2 pixels, so it skips pixels only when shrinking by more than 2; it costs a seventh of
        # the area filter (112 against 741 us from 300 x 400 to 224 x 224)
        how = cv2.INTER_AREA if h > 2 * height or w > 2 * width else cv2.INTER_LINEAR
        cv2.resize(picture, (width, height), dst=out, interpolation=how)

    def mirror(out: np.ndarray) -> None:
        cv2.flip(out, 1, dst=out)

    return Resizing(resize, mirror)


def _mirror(out: np.ndarray) -> None:
    out[...] = out[:, ::-1].copy()


def _with_pillow(picture: np.ndarray, out: np.ndarray) -> None:
    from PIL import Image

    flat = picture[:, :, 0] if picture.shape[2] == 1 else picture
    image = Image.fromarray(np.ascontiguousarray(flat))
    small = np.asarray(image.resize((out.shape[1], out.shape[0]), Image.Resampling.BILINEAR))
    out[...] = small.reshape(out.shape)


def cut(pictures: Sequence[np.ndarray], geometry: Geometry, out: np.ndarray, resizing: Resizing) -> None:
    """Fills `out`, uint8 [B, S, S, C], with the box of each picture, flipped and shifted as `geometry` says."""
    for i, (left, top, width, height) in enumerate(geometry.boxes.tolist()):
        box = pictures[i][top : top + height, left : left + width]
        if box.shape == out[i].shape:
            out[i] = box
        else:
            resizing.resize(box, out[i])
    for i in np.flatnonzero(geometry.flips).tolist():
        resizing.mirror(out[i])
    if geometry.shifts is not None:
        _shift(out, geometry.shifts)


def _shift(out: np.ndarray, shifts: np.ndarray) -> None:
    size = out.shape[1]
    places = np.arange(size)
    columns = np.clip(places[None, :] - shifts[:, :1], 0, size - 1)
    rows = np.clip(places[None, :] - shifts[:, 1:], 0, size - 1)
    batch = np.arange(len(out))[:, None, None]
    out[...] = out[batch, rows[:, :, None], columns[:, None, :]]
