"""Every kind of picture file as uint8 [H, W, C], against Pillow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from torchstone.engines.pytorch.sources.decode import is_grey, read_picture


def smooth(height: int = 48, width: int = 64) -> np.ndarray:
    """A picture without noise, so that JPEG keeps it: uint8 [H, W, 3], different in every corner."""
    y, x = np.mgrid[0:height, 0:width]
    right, down = x / width, y / height
    return np.stack([255 * right, 255 * down, 255 - 127 * (right + down)], axis=2).astype(np.uint8)


def saved(folder: Path, image: Image.Image, name: str, **options: object) -> str:
    path = folder / name
    image.save(path, **options)
    return str(path)


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_jpeg_is_what_pillow_decodes(tmp_path: Path, progressive: bool, mode: str) -> None:
    image = Image.fromarray(smooth()).convert(mode)
    path = saved(tmp_path, image, "a.JPG", quality=95, subsampling=0, progressive=progressive, format="JPEG")
    ours = read_picture(path, channels=3)
    assert ours.dtype == np.uint8
    assert (ours == np.asarray(Image.open(path).convert("RGB"))).all()


def test_colour_stored_in_half_the_size_is_enlarged_without_smoothing(tmp_path: Path) -> None:
    path = saved(tmp_path, Image.fromarray(smooth()), "a.jpg", quality=95, subsampling=2)
    difference = np.abs(read_picture(path, channels=3) - np.asarray(Image.open(path).convert("RGB")).astype(int))
    assert 0 < difference.mean() < 2
    assert difference.max() <= 12


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("name", ["a.jpg", "a.png"])
def test_exif_orientation_is_honoured_as_pillow_does(tmp_path: Path, orientation: int, name: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = saved(tmp_path, Image.fromarray(smooth()), name, exif=exif, quality=95)
    reference = np.asarray(ImageOps.exif_transpose(Image.open(path)).convert("RGB")).astype(int)
    ours = read_picture(path, channels=3)
    assert ours.shape == reference.shape
    assert np.abs(ours - reference).mean() < 2


def test_a_large_jpeg_is_shrunk_while_decoding_but_not_below_what_is_wanted(tmp_path: Path) -> None:
    path = saved(tmp_path, Image.fromarray(smooth(480, 640)), "a.jpg", quality=95)
    assert read_picture(path, channels=3, shorter=60).shape == (60, 80, 3)
    assert read_picture(path, channels=3, shorter=61).shape == (120, 160, 3)
    assert read_picture(path, channels=3, shorter=1000).shape == (480, 640, 3)


def test_sixteen_bits_are_scaled_not_clipped(tmp_path: Path) -> None:
    values = np.array([[0, 257, 32896, 65535]], dtype=np.uint16)
    path = saved(tmp_path, Image.fromarray(values), "a.png")
    assert read_picture(path, channels=1)[0, :, 0].tolist() == [0, 1, 128, 255]
    assert read_picture(path, channels=3)[0, 2].tolist() == [128, 128, 128]


def test_transparent_parts_lie_over_white(tmp_path: Path) -> None:
    layers = np.array([[[10, 20, 30, 255], [10, 20, 30, 0]]], dtype=np.uint8)
    path = saved(tmp_path, Image.fromarray(layers, "RGBA"), "a.png")
    assert read_picture(path, channels=3)[0].tolist() == [[10, 20, 30], [255, 255, 255]]
    grey = np.array([[[40, 255], [40, 0]]], dtype=np.uint8)
    path = saved(tmp_path, Image.fromarray(grey, "LA"), "b.png")
    assert read_picture(path, channels=1)[0, :, 0].tolist() == [40, 255]


def test_a_palette_gives_its_colours_and_its_transparent_entry_is_white(tmp_path: Path) -> None:
    image = Image.fromarray(np.array([[0, 1]], dtype=np.uint8), "P")
    image.putpalette([200, 10, 20, 30, 40, 250])
    assert read_picture(saved(tmp_path, image, "a.png"), channels=3)[0].tolist() == [[200, 10, 20], [30, 40, 250]]
    path = saved(tmp_path, image, "b.png", transparency=1)
    assert read_picture(path, channels=3)[0].tolist() == [[200, 10, 20], [255, 255, 255]]


def test_cmyk_jpeg_becomes_rgb_as_pillow_does(tmp_path: Path) -> None:
    path = saved(tmp_path, Image.fromarray(smooth()).convert("CMYK"), "a.jpg", quality=95)
    reference = np.asarray(Image.open(path).convert("RGB"))
    assert (read_picture(path, channels=3) == reference).all()


def test_the_first_frame_of_an_animation_is_read(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (5, 4), colour) for colour in ("red", "blue")]
    path = saved(tmp_path, frames[0], "a.gif", save_all=True, append_images=frames[1:])
    assert read_picture(path, channels=3)[0, 0].tolist() == [255, 0, 0]


def test_grey_is_told_from_colour_by_the_header(tmp_path: Path) -> None:
    grey = Image.new("L", (8, 8), 90)
    assert is_grey(saved(tmp_path, grey, "a.jpg"))
    assert is_grey(saved(tmp_path, grey, "a.png"))
    assert not is_grey(saved(tmp_path, grey.convert("RGB"), "b.jpg"))
    assert read_picture(str(tmp_path / "a.jpg"), channels=3)[0, 0].tolist() == [90, 90, 90]
    assert abs(int(read_picture(str(tmp_path / "b.jpg"), channels=1)[0, 0, 0]) - 90) <= 1
