"""Pictures that cannot be used: the message names the file and the way out."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.sources.decode import is_grey, read_picture


def refused(path: Path, *words: str) -> None:
    with pytest.raises(StoneError) as caught:
        read_picture(str(path), channels=3)
    assert caught.value.where == str(path)
    assert caught.value.fix
    for word in words:
        assert word in caught.value.what


def noise() -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8))


@pytest.mark.parametrize("name", ["a.jpg", "a.png"])
def test_a_truncated_picture(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    noise().save(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    refused(path, "cannot be read")


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").touch()
    refused(tmp_path / "a.jpg", "empty")


def test_a_text_named_like_a_picture(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_text("this is a note")
    refused(tmp_path / "a.jpg", "not a picture")
    with pytest.raises(StoneError, match="not a picture"):
        is_grey(str(tmp_path / "a.jpg"))


def test_the_start_of_a_jpeg_and_nothing_after_it(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    refused(tmp_path / "a.jpg")


def test_a_missing_file_and_a_broken_link(tmp_path: Path) -> None:
    (tmp_path / "b.jpg").symlink_to(tmp_path / "nowhere.jpg")
    refused(tmp_path / "a.jpg", "no such file")
    refused(tmp_path / "b.jpg", "no such file")


def test_a_folder_named_like_a_picture(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").mkdir()
    refused(tmp_path / "a.jpg", "cannot be read")


def png_header(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds almost nothing."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("side", [20_000, 10_000])
def test_a_picture_of_too_many_pixels_is_refused_before_it_is_decoded(tmp_path: Path, side: int) -> None:
    (tmp_path / "a.png").write_bytes(png_header(side, side))
    refused(tmp_path / "a.png", "too large", "89,478,485")


def test_a_jpeg_of_too_many_pixels_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    noise().save(path)
    data = bytearray(path.read_bytes())
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = struct.pack(">HH", 20_000, 20_000)
    path.write_bytes(data)
    refused(path, "20,000 x 20,000")


def test_floats_outside_zero_to_one_are_not_guessed_at(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0.0, 900.0]], dtype=np.float32)).save(tmp_path / "a.tiff")
    refused(tmp_path / "a.tiff", "0 to 900")
    Image.fromarray(np.array([[0.0, 1.0]], dtype=np.float32)).save(tmp_path / "b.tiff")
    assert read_picture(str(tmp_path / "b.tiff"), channels=1)[0, :, 0].tolist() == [0, 255]
