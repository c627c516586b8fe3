"""Any picture file as uint8 [H, W, C]: C 3 for red, green, blue, 1 for grey.

What is done to the unusual ones, always and for every use:
turned as their EXIF orientation says; transparent parts over white; palette and CMYK to RGB; 16 bits scaled to
8 (65535 becomes 255); the first frame of an animation. A picture of more pixels than Pillow's MAX_IMAGE_PIXELS is
refused before it is decoded.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from torchstone.core.errors import StoneError

# A decoded picture changes with these pixels; raise it when the rules above change, so that old caches are not used.
DECODER = 1
_GREY_MODES = ("1", "L", "LA", "I;16", "I;16B", "I;16L", "I", "F")
_BROKEN = (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError)


def read_picture(path: str, *, channels: int, shorter: int | None = None) -> np.ndarray:
    """The picture of a file, uint8 [H, W, channels], C-contiguous.

    shorter: pixels that the shorter side must keep; a larger JPEG is then shrunk by 2, 4 or 8 while it is decoded.
    Raises StoneError naming the file if it is missing, empty, broken, too large or no picture.
    """
    data = _read(path)
    if data[:3] == b"\xff\xd8\xff":
        picture = _read_jpeg(data, path, channels, shorter)
        if picture is not None:
            return picture
    return _read_other(data, path, channels)


def is_grey(path: str) -> bool:
    """Whether a file says that it holds grey values only; reads its header. Raises StoneError as `read_picture`."""
    try:
        with Image.open(path) as image:
            return image.mode in _GREY_MODES
    except _BROKEN as error:
        raise _unreadable(path, error) from error


def _read(path: str) -> bytes:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from error
    if not data:
        raise StoneError("the file is empty (0 bytes)", where=path, fix="copy it again, or remove it")
    return data


def _unreadable(path: str, error: Exception) -> StoneError:
    if isinstance(error, UnidentifiedImageError):
        return StoneError("this is not a picture that Pillow knows", where=path, fix="remove it or convert it to PNG")
    if isinstance(error, FileNotFoundError):
        return StoneError("no such file (or a link that leads nowhere)", where=path, fix="restore it or remove it")
    if isinstance(error, Image.DecompressionBombError):
        return _too_large(path, str(error))
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return StoneError(f"the picture cannot be read: {reason}", where=path, fix="copy it again, or remove it")


def _too_large(path: str, seen: str) -> StoneError:
    return StoneError(
        f"too large a picture: {seen}; the limit is {Image.MAX_IMAGE_PIXELS:,} pixels",
        where=path,
        fix="make it smaller (a model sees a few hundred pixels of each side), or remove it",
    )


def _check_size(width: int, height: int, path: str) -> None:
    if Image.MAX_IMAGE_PIXELS is not None and width * height > Image.MAX_IMAGE_PIXELS:
        raise _too_large(path, f"{width:,} x {height:,}")


def _read_jpeg(data: bytes, path: str, channels: int, shorter: int | None) -> np.ndarray | None:
    """libjpeg-turbo without Pillow; None where Pillow has to decide (CMYK, damage)."""
    import simplejpeg

    try:
        height, width, colours, _ = simplejpeg.decode_jpeg_header(data)
        _check_size(width, height, path)
        if colours in ("CMYK", "YCCK"):
            return None
        # only 2, 4, 8: libjpeg-turbo has fast code for these (7/8 takes twice as long as the whole picture)
        scale = 1
        while shorter is not None and scale < 8 and -(-min(height, width) // (scale * 2)) >= shorter:
            scale *= 2
        # the exact transform costs 3 % more than the fast one and differs less from Pillow's (0.8 against 1.5 of 255)
        picture: np.ndarray = simplejpeg.decode_jpeg(
            data, "GRAY" if channels == 1 else "RGB", fastdct=False, fastupsample=True,
            min_height=-(-height // scale), min_width=-(-width // scale), min_factor=1,
        )
    except ValueError:
        return None
    if _has_exif(data):
        picture = np.ascontiguousarray(_turn(picture, _orientation(data)))
    return picture


def _has_exif(data: bytes) -> bool:
    """Whether one of the segments before the picture is EXIF; searching all bytes would cost a tenth of decoding."""
    at = 2
    while at + 10 <= len(data) and data[at] == 0xFF and data[at + 1] != 0xDA:
        if data[at + 1] == 0xE1 and data[at + 4 : at + 10] == b"Exif\x00\x00":
            return True
        # a marker may be preceded by any number of fill bytes
        at += 1 if data[at + 1] == 0xFF else 2 + int.from_bytes(data[at + 2 : at + 4])
    return False


def _orientation(data: bytes) -> int:
    with Image.open(io.BytesIO(data)) as image:
        value = image.getexif().get(0x0112, 1)
    return value if isinstance(value, int) else 1


def _turn(picture: np.ndarray, orientation: int) -> np.ndarray:
    """The picture upright; orientation as in EXIF 2.3, tag 274; 1 and unknown values leave it."""
    if orientation in (5, 6, 7, 8):
        picture = picture.swapaxes(0, 1)
    if orientation in (2, 3, 6, 7):
        picture = picture[:, ::-1]
    if orientation in (3, 4, 7, 8):
        picture = picture[::-1]
    return picture


def _read_other(data: bytes, path: str, channels: int) -> np.ndarray:
    try:
        with Image.open(io.BytesIO(data)) as image:
            _check_size(image.width, image.height, path)
            upright = ImageOps.exif_transpose(image)
            plain = _eight_bits(upright, path) if upright.mode[0] in "IF" else _opaque(upright)
            pixels = np.array(plain.convert("L" if channels == 1 else "RGB"))
    except _BROKEN as error:
        raise _unreadable(path, error) from error
    return pixels.reshape(*pixels.shape[:2], channels)


def _opaque(image: Image.Image) -> Image.Image:
    if not image.has_transparency_data:
        return image
    layers = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", layers.size, "white"), layers)


def _eight_bits(image: Image.Image, path: str) -> Image.Image:
    """Grey of 16 bits (or 32-bit integers within 16) scaled by 1/257; floats from 0 to 1 scaled by 255."""
    values = np.asarray(image).astype(np.float64)
    low, high = float(values.min()), float(values.max())
    most = 1.0 if image.mode == "F" else 65535.0
    if not (low >= 0 and high <= most):
        raise StoneError(f"values from {low:g} to {high:g}, where 0 to {most:g} was expected in mode {image.mode}",
                         where=path, fix="save it with 8 or 16 bits per channel")
    return Image.fromarray(np.rint(values * (255 / most)).astype(np.uint8))
