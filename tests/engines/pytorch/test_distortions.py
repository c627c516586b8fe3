"""RandAugment and TrivialAugment against torchvision's own, operation by operation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torchvision.transforms import v2

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.distortions import _operations, rand_augment, trivial_augment
from torchstone.engines.pytorch.distortions._operations import Look, distort_one
from torchstone.engines.pytorch.sources.draws import uniform

# torchvision's name of each operation
THEIRS = {name: "".join(word.capitalize() for word in name.split("_")) for name in rand_augment.SPACE}
PAIRS = [(rand_augment.SPACE, v2.RandAugment), (trivial_augment.SPACE, v2.TrivialAugmentWide)]


def pictures(num: int, size: int, channels: int) -> np.ndarray:
    """Smooth pictures with some noise, uint8 [num, size, size, channels]."""
    rng = np.random.default_rng(size + channels)
    coarse = rng.integers(0, 256, (num, 4, 4, channels)).astype(np.float64)
    fine = coarse.repeat(-(-size // 4), axis=1).repeat(-(-size // 4), axis=2)[:, :size, :size]
    return np.clip(fine + rng.normal(0, 12, fine.shape), 0, 255).astype(np.uint8)


def theirs(picture: np.ndarray, name: str, strength: float, fill: int, mode: v2.InterpolationMode) -> np.ndarray:
    tensor = torch.from_numpy(picture.transpose(2, 0, 1).copy())
    fills = {torch.Tensor: [fill] if fill else None}  # its own default for black
    out = v2.RandAugment()._apply_image_or_video_transform(tensor, THEIRS[name], strength, mode, fills)
    return np.asarray(out).transpose(1, 2, 0)


@pytest.mark.parametrize("space, reference", PAIRS)
@pytest.mark.parametrize("size", [32, 57])
def test_the_operations_and_their_strengths_are_torchvisions(space: dict, reference: type, size: int) -> None:
    assert [THEIRS[name] for name in space] == list(reference._AUGMENTATION_SPACE)
    for name, strengths in space.items():
        make, signed = reference._AUGMENTATION_SPACE[THEIRS[name]]
        expected, own = make(_operations.BINS, size, size), strengths(size)
        assert (expected is None and own is None) or torch.equal(own, expected), name
        assert signed == (name in _operations.SIGNED), name


@pytest.mark.parametrize("name", list(rand_augment.SPACE))
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("mode, fill", [("nearest", 77), ("bilinear", 77), ("nearest", 0), ("bilinear", 0)])
def test_each_operation_gives_torchvisions_pixels(name: str, channels: int, mode: str, fill: int) -> None:
    for space, _ in PAIRS:
        strengths = space[name](40)
        for place in (0, 9, 30):
            for sign in (1, -1) if name in _operations.SIGNED else (1,):
                strength = 0.0 if strengths is None else sign * float(strengths[place])
                for picture in pictures(2, 40, channels):
                    own = distort_one(picture, name, strength, Look(mode, fill))  # type: ignore[arg-type]
                    expected = theirs(picture, name, strength, fill, v2.InterpolationMode(mode))
                    assert own.dtype == np.uint8
                    assert np.array_equal(own, expected), (place, sign)


def forced(numbers: list[float]) -> Callable[[int], np.ndarray]:
    """A draw that gives these numbers to one picture."""

    def draw(count: int) -> np.ndarray:
        assert count == len(numbers)
        return np.array([numbers])

    return draw


def test_rand_augment_does_the_drawn_operations_one_after_the_other() -> None:
    pixels = pictures(1, 32, 3)
    expected = theirs(pixels[0], "rotate", -float(torch.linspace(0, 30, 31)[12]), 128, v2.InterpolationMode.NEAREST)
    expected = theirs(expected, "posterize", 6, 128, v2.InterpolationMode.NEAREST)  # 8 - 12 / 7.5, rounded
    numbers = [(5 + 0.5) / 14, 0.3, (10 + 0.5) / 14, 0.9]
    rand_augment.rand_augment(num=2, magnitude=12)(forced(numbers), pixels)
    assert np.array_equal(pixels[0], expected)


def test_trivial_augment_does_one_operation_of_drawn_strength() -> None:
    pixels = pictures(1, 32, 3)
    strength = float(torch.linspace(0, 0.99, 31)[20])
    expected = theirs(pixels[0], "brightness", strength, 128, v2.InterpolationMode.NEAREST)
    trivial_augment.trivial_augment()(forced([(6 + 0.5) / 14, 20.5 / 31, 0.7]), pixels)
    assert np.array_equal(pixels[0], expected)


def test_operations_and_directions_are_drawn_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, float]] = []
    monkeypatch.setattr(
        rand_augment, "distort_one", lambda p, name, strength, look: seen.append((name, strength)) or p,
    )  # fmt: skip
    rows = np.arange(4000)
    rand_augment.rand_augment()(lambda count: uniform(0, 0, rows, count, stream=1), np.zeros((4000, 8, 8, 1), np.uint8))
    counts = np.array([sum(name == one for one, _ in seen) for name in rand_augment.SPACE])
    expected = len(seen) / 14
    assert ((counts - expected) ** 2 / expected).sum() < 34.5  # 99.9 % point of chi-square with 13 degrees of freedom
    turns = [strength > 0 for name, strength in seen if name == "rotate"]
    assert abs(np.mean(turns) - 0.5) < 3.3 * 0.5 / len(turns) ** 0.5


@pytest.mark.parametrize("size", [24, 224])
def test_the_number_of_threads_changes_no_pixel(size: int) -> None:
    before, outputs = torch.get_num_threads(), []
    numbers = uniform(3, 0, np.arange(14), 3)
    numbers[:, 0] = (np.arange(14) + 0.5) / 14
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            pixels = pictures(14, size, 3)
            trivial_augment.trivial_augment(interpolation="bilinear")(lambda count: numbers, pixels)
            outputs.append(pixels)
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(outputs[0], outputs[1])
    assert np.array_equal(outputs[0], outputs[2])


def test_a_wrong_option_is_told() -> None:
    for wrong in ({"num": 0}, {"magnitude": 31}, {"fill": 256}):
        with pytest.raises(StoneError, match="must be"):
            rand_augment.rand_augment(**wrong)  # type: ignore[arg-type]
