"""Bytes to text, and what a file is by its first bytes."""

from __future__ import annotations

import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from torchstone.core.errors import StoneError
from torchstone.parts.formats.content import content
from torchstone.parts.formats.encoding import decode
from torchstone.parts.formats.picture import MAX_PIXELS, check_picture, is_picture

TEXT = "name,wert\nMüller,1\nGröße,2\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_unicode_encodings_are_read_exactly(encoding: str) -> None:
    decoded = decode(TEXT.encode(encoding), "t.csv")
    assert decoded.text == TEXT
    assert decoded.bad_line is None
    assert content(TEXT.encode(encoding)[:64]) == "text" or encoding == "utf-32"


def test_utf_16_with_either_mark_is_read() -> None:
    assert decode(b"\xfe\xff" + TEXT.encode("utf-16-be"), "t").text == TEXT
    assert decode(b"\xff\xfe" + TEXT.encode("utf-16-le"), "t").text == TEXT


def test_a_fallback_to_one_byte_per_letter_says_the_first_line() -> None:
    decoded = decode(TEXT.encode("latin-1"), "t.csv")
    assert (decoded.text, decoded.encoding, decoded.bad_line) == (TEXT, "windows-1252", 2)
    assert decode(b"a\x81", "t").encoding == "latin-1"


@given(st.binary(max_size=40))
def test_any_bytes_give_text_or_a_mistake(data: bytes) -> None:
    with contextlib.suppress(StoneError):
        assert isinstance(decode(data, "t").text, str)


def test_nul_bytes_are_a_mistake_that_names_the_line() -> None:
    with pytest.raises(StoneError) as caught:
        decode(b"a,b\n1,2\n3,\x00\n", "t.csv")
    assert caught.value.where == "t.csv:3"


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"", "empty"),
        (b"PAR1\x15\x04", "parquet"),
        (b'{"text": "a"}\n', "json"),
        (b'  [\n {"text": 1}]', "json"),
        (b"[x],y\n1,2\n", "text"),
        (b"{x},y\n1,2\n", "text"),
        (b"text,label\n", "text"),
        (b"BMI,label\n1,2\n", "text"),
        (b"RIFF\x24\x08\0\0WAVEfmt ", "sound"),
        (b"PK\x03\x04\x14\0", "archive"),
        (b"# comment\n@problemName X\n", "series"),
        (b"\x80\x04\x95\x00\x00\x00\x01\x02\x03", "binary"),
    ],
)
def test_content_is_told_by_bytes(head: bytes, kind: str) -> None:
    assert content(head) == kind


def picture(mode: str = "RGB", size: tuple[int, int] = (40, 30), format: str = "PNG", **options: object) -> bytes:
    file = io.BytesIO()
    noise = Image.effect_noise(size, 80)
    noise.convert("L" if mode == "I;16" else mode).save(file, format, **options)
    return file.getvalue()


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM", "ICO", "JPEG2000", "AVIF"])
def test_every_format_decodes_and_is_known_by_its_bytes(format: str) -> None:
    data = picture(format=format, size=(64, 48))
    assert check_picture(data) is None
    assert is_picture(data[:16])
    assert content(data[:4096]) == "picture"


@pytest.mark.parametrize(
    ("mode", "format"), [("CMYK", "JPEG"), ("L", "JPEG"), ("P", "PNG"), ("1", "PNG"), ("RGBA", "PNG")]
)
def test_unusual_modes_decode(mode: str, format: str) -> None:
    assert check_picture(picture(mode, format=format)) is None


def test_sixteen_bits_and_animation_decode() -> None:
    file = io.BytesIO()
    Image.new("I;16", (8, 8), 40000).save(file, "PNG")
    assert check_picture(file.getvalue()) is None
    frames = [Image.new("RGB", (8, 8), color) for color in ("red", "blue")]
    moving = io.BytesIO()
    frames[0].save(moving, "GIF", save_all=True, append_images=frames[1:])
    assert check_picture(moving.getvalue()) is None


@pytest.mark.parametrize("format", ["PNG", "JPEG", "BMP", "TIFF", "WEBP", "GIF"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_a_cut_picture_is_found(format: str, share: float) -> None:
    data = picture(format=format, size=(200, 150))
    assert check_picture(data[: int(len(data) * share)]) is not None


def test_empty_and_foreign_bytes_are_named() -> None:
    assert check_picture(b"") == "the file is empty (0 bytes)"
    assert "begins with b'hello'" in str(check_picture(b"hello"))


def test_a_postscript_file_is_never_run() -> None:
    assert check_picture(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n") is not None


@pytest.mark.parametrize("side", [10_000, 20_000])
def test_a_picture_of_too_many_pixels_is_refused_without_decoding(side: int) -> None:
    file = io.BytesIO()
    Image.new("1", (side, side)).save(file, "PNG")
    reason = check_picture(file.getvalue())
    assert side * side > MAX_PIXELS
    assert f"at most {MAX_PIXELS:,} pixels" in str(reason)


MAGIC = [b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF....WEBP", b"II*\0"]


@given(st.binary(max_size=60), st.sampled_from(MAGIC))
def test_broken_bytes_give_a_reason_and_never_a_crash(rest: bytes, magic: bytes) -> None:
    assert isinstance(check_picture(magic + rest), str)
