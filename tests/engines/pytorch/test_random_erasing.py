"""Random erasing against torchvision's, as far as two generators can be compared."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.erasures.random_erasing import random_erasing
from torchstone.engines.pytorch.sources.draws import uniform

NUM, SIDE = 2000, 32
MEAN = np.array([200, 100, 50], dtype=np.uint8)


def erased(side: int = SIDE, num: int = NUM, **options: object) -> np.ndarray:
    """White pictures after erasing, [num, side, side, 3]."""
    pixels = np.full((num, side, side, 3), 255, dtype=np.uint8)
    draw = lambda count: uniform(0, 0, np.arange(num), count, stream=2)  # noqa: E731
    random_erasing(**options)(draw, pixels, MEAN)  # type: ignore[arg-type]
    return pixels


def boxes(is_erased: np.ndarray) -> np.ndarray:
    """Top, left, height, width of what is erased in each picture that has something erased."""
    rows, columns = is_erased.any(2), is_erased.any(1)
    kept = rows.any(1)
    top, left = rows[kept].argmax(1), columns[kept].argmax(1)
    return np.stack([top, left, rows[kept].sum(1), columns[kept].sum(1)], axis=1)


def quantities(found: np.ndarray) -> list[np.ndarray]:
    """Area, shape, top and left of boxes."""
    return [found[:, 2] * found[:, 3], np.log(found[:, 2] / found[:, 3]), found[:, 0], found[:, 1]]


def test_what_is_erased_is_one_rectangle_of_the_mean_colour() -> None:
    pixels = erased(fill="mean", probability=1.0)
    is_erased = (pixels == MEAN).all(-1)
    found = boxes(is_erased)
    assert len(found) == NUM
    assert (is_erased.sum((1, 2)) == found[:, 2] * found[:, 3]).all()
    assert (pixels[~is_erased] == 255).all()


def test_sizes_shapes_and_places_are_those_of_torchvision() -> None:
    from torchvision.transforms import v2

    torch.manual_seed(0)
    reference = v2.RandomErasing(p=1.0, scale=(0.02, 0.33), ratio=(0.3, 10 / 3))
    params = [reference.make_params([torch.zeros(3, SIDE, SIDE)]) for _ in range(NUM)]
    theirs = np.array([[p["i"], p["j"], p["h"], p["w"]] for p in params], dtype=np.float64)
    own = boxes((erased(fill="mean", probability=1.0) == MEAN).all(-1)).astype(np.float64)
    for a, b in zip(quantities(own), quantities(theirs), strict=True):
        assert abs(a.mean() - b.mean()) < 3.5 * np.hypot(a.std(), b.std()) / NUM**0.5
        assert abs(a.std() / b.std() - 1) < 0.1


def test_as_many_pictures_are_erased_as_the_probability_says() -> None:
    for probability in (0.0, 0.25, 1.0):
        share = (erased(probability=probability, fill="mean") != 255).any((1, 2, 3)).mean()
        assert abs(share - probability) <= 3.5 * (probability * (1 - probability) / NUM) ** 0.5


def test_noise_is_even_over_all_bytes_and_differs_between_pictures() -> None:
    pixels = erased(probability=1.0, smallest=0.3, largest=0.33, aspect=1.0, num=200)
    noise = pixels[(pixels != 255).any(-1)].ravel()
    counts = np.bincount(noise, minlength=256)[:255]  # 255 is rarer: a white pixel is not told from the picture
    expected = counts.mean()
    assert ((counts - expected) ** 2 / expected).sum() < 331  # 99.9 % point of chi-square with 254 degrees
    patches = {picture[(picture != 255).any(-1)].tobytes() for picture in pixels}
    assert len(patches) == 200


def test_noise_stays_the_same_for_the_same_picture_in_other_company() -> None:
    together, rows = np.full((50, 16, 16, 1), 255, dtype=np.uint8), np.arange(50)
    erase, mean = random_erasing(probability=1.0), np.array([0], dtype=np.uint8)
    erase(lambda count: uniform(1, 2, rows, count), together, mean)
    alone = np.full((1, 16, 16, 1), 255, dtype=np.uint8)
    erase(lambda count: uniform(1, 2, rows[31:32], count), alone, mean)
    assert np.array_equal(alone[0], together[31])


def test_wrong_options_are_told() -> None:
    for wrong in ({"smallest": 0.0}, {"largest": 1.0}, {"probability": 1.5}, {"aspect": 0.5}):
        with pytest.raises(StoneError, match="needed"):
            random_erasing(**wrong)  # type: ignore[arg-type]
