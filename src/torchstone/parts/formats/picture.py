"""Whether bytes are a picture that decodes to its last row."""

from __future__ import annotations

import io
import re
import warnings

# Pillow's Image.MAX_IMAGE_PIXELS (1 GiB / 4 / 3, Pillow 13.0): above it, a small file may fill the memory.
MAX_PIXELS = 1024 * 1024 * 1024 // 4 // 3
# Decoders that run in this process on bytes alone; EPS, for one, would start Ghostscript.
FORMATS = ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "ICO", "JPEG2000", "AVIF")
SUFFIXES = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".gif", ".bmp", ".tif", ".tiff", ".webp"),
    *(".ppm", ".pgm", ".pbm", ".pnm", ".ico", ".jp2", ".avif"),
)
_MAGIC = re.compile(
    rb"\xff\xd8\xff|\x89PNG\r\n\x1a\n|GIF8[79]a|BM.{4}\0\0\0\0|II\*\0|MM\0\*|RIFF.{4}WEBP|P[1-6][\s#]"
    rb"|\0\0\x01\0[^\0]\0|\0\0\0\x0cjP  |\0\0\0.ftypavi[fs]",
    re.DOTALL,
)


def is_picture(head: bytes) -> bool:
    """Whether the first bytes (16 are enough) are those of a picture format that can be decoded."""
    return _MAGIC.match(head) is not None


def check_picture(data: bytes) -> str | None:
    """Why these bytes are no usable picture, or None where every row decodes.

    JPEG is decoded at an eighth of its size, which still reads every byte. Animated pictures count by their first
    frame. More than MAX_PIXELS are refused without decoding.
    """
    from PIL import Image, UnidentifiedImageError

    if not data:
        return "the file is empty (0 bytes)"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _fault(io.BytesIO(data))
    except Image.DecompressionBombError as error:
        pixels = re.search(r"\d+", str(error))
        return f"{int(pixels[0]) if pixels else 0:,} pixels; at most {MAX_PIXELS:,} pixels are decoded"
    except UnidentifiedImageError:
        return f"not a picture: its content begins with {data[:16]!r}"
    except Exception as error:  # broken bytes make decoders raise anything, from zlib.error to IndexError
        return f"does not decode: {error or type(error).__name__}"


def _fault(file: io.BytesIO) -> str | None:
    from PIL import Image

    image = Image.open(file, formats=FORMATS)
    width, height = image.size
    if width * height > MAX_PIXELS:
        return f"{width:,} x {height:,} pixels; at most {MAX_PIXELS:,} pixels are decoded"
    if image.format == "JPEG":
        image.draft(image.mode, (max(1, width // 8), max(1, height // 8)))
    image.load()
    return None
