"""Where augmentation looks, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.sources.draws import uniform
from torchstone.engines.pytorch.sources.geometry import Augment, Geometry, centre, whole
from torchstone.engines.pytorch.sources.resize import cut, resizing
from torchstone.engines.pytorch.transforms.crop_flip import crop_flip
from torchstone.engines.pytorch.transforms.none import none
from torchstone.engines.pytorch.transforms.shift import shift

COUNT = 4_000
HEIGHTS, WIDTHS = np.full(COUNT, 90), np.full(COUNT, 120)


def drawn(augment: Augment, heights: np.ndarray = HEIGHTS, widths: np.ndarray = WIDTHS, size: int = 16) -> Geometry:
    rows = np.arange(len(heights))
    return augment(lambda count: uniform(0, 0, rows, count), heights, widths, size)


def test_crops_lie_inside_with_the_area_and_aspect_asked_for() -> None:
    geometry = drawn(crop_flip(smallest=0.2, largest=0.8))
    left, top, width, height = geometry.boxes.T
    assert (left >= 0).all()
    assert (top >= 0).all()
    assert (left + width <= 120).all()
    assert (top + height <= 90).all()
    area = width * height / (90 * 120)
    assert area.min() > 0.19
    assert area.max() < 0.82
    assert (width / height).max() < 1.36
    assert (width / height).min() > 0.73
    assert abs(geometry.flips.mean() - 0.5) < 0.03


def test_crops_reach_every_corner() -> None:
    left, top, width, height = drawn(crop_flip(smallest=0.2)).boxes.T
    assert left.min() == 0
    assert top.min() == 0
    assert (left + width).max() == 120
    assert (top + height).max() == 90


def test_crops_have_the_mean_area_of_torchvisions() -> None:
    import torch
    from torchvision.transforms import RandomResizedCrop

    torch.manual_seed(0)
    picture = torch.empty(3, 90, 120)
    theirs = [RandomResizedCrop.get_params(picture, [0.35, 1.0], [3 / 4, 4 / 3]) for _ in range(COUNT)]
    _, _, width, height = drawn(crop_flip()).boxes.T
    assert (width * height).mean() == pytest.approx(np.mean([h * w for _, _, h, w in theirs]), rel=0.02)


def test_a_strip_that_no_crop_fits_into_gives_its_largest_square() -> None:
    geometry = drawn(crop_flip(smallest=0.9), np.array([10]), np.array([400]))
    assert geometry.boxes[0, 2:].tolist() == [10, 10]


def test_one_pixel_is_enough() -> None:
    for augment in (crop_flip(), shift(), none()):
        assert drawn(augment, np.array([1]), np.array([1])).boxes.tolist() == [[0, 0, 1, 1]]


def test_shifts_reach_an_eighth_of_the_input_and_every_step_is_equally_likely() -> None:
    shifts = drawn(shift(), size=16).shifts
    assert shifts is not None
    values, counts = np.unique(shifts, return_counts=True)
    assert values.tolist() == [-2, -1, 0, 1, 2]
    assert np.abs(counts / COUNT / 2 - 0.2).max() < 0.02


def test_a_shift_moves_right_and_down_and_repeats_the_edge() -> None:
    picture = np.arange(16, dtype=np.uint8).reshape(4, 4, 1)
    out = np.empty((1, 4, 4, 1), dtype=np.uint8)
    plain = whole(np.array([4]), np.array([4]))
    cut([picture], Geometry(plain.boxes, plain.flips, np.array([[1, -1]])), out, resizing("cv2"))
    assert out[0, :, :, 0].tolist() == [[4, 4, 5, 6], [8, 8, 9, 10], [12, 12, 13, 14], [12, 12, 13, 14]]


@pytest.mark.parametrize("resizer", ["cv2", "pillow"])
@pytest.mark.parametrize("channels", [1, 3])
def test_a_flip_is_the_mirror_image(resizer: str, channels: int) -> None:
    pictures = [np.random.default_rng(i).integers(0, 256, (8, 8, channels), dtype=np.uint8) for i in range(2)]
    out = np.empty((2, 8, 8, channels), dtype=np.uint8)
    plain = whole(np.array([8, 8]), np.array([8, 8]))
    cut(pictures, Geometry(plain.boxes, np.array([True, False])), out, resizing(resizer))
    assert (out[0] == pictures[0][:, ::-1]).all()
    assert (out[1] == pictures[1]).all()


@pytest.mark.parametrize("resizer", ["cv2", "pillow"])
def test_a_box_is_resized_without_a_look_beyond_its_edge(resizer: str) -> None:
    picture = np.zeros((40, 40, 3), dtype=np.uint8)
    picture[10:20, 10:20] = 200
    out = np.empty((1, 16, 16, 3), dtype=np.uint8)
    cut([picture], Geometry(np.array([[10, 10, 10, 10]]), np.array([False])), out, resizing(resizer))
    assert (out == 200).all()


def test_the_centre_is_a_square_in_the_middle() -> None:
    assert centre(np.array([80]), np.array([120]), 1.0).boxes.tolist() == [[20, 0, 80, 80]]
    assert centre(np.array([80]), np.array([120]), 7 / 8).boxes.tolist() == [[25, 5, 70, 70]]


@pytest.mark.parametrize(
    "wrong", [{"smallest": 0.0}, {"smallest": 0.9, "largest": 0.5}, {"aspect": 0.5}, {"flip": 2.0}]
)
def test_impossible_options_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(StoneError, match="needed"):
        crop_flip(**wrong)
    with pytest.raises(StoneError, match="share"):
        shift(share=0.7)
