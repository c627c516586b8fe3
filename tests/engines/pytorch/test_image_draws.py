"""Random numbers as a function of seed, epoch and row."""

from __future__ import annotations

import numpy as np
import pytest

from torchstone.engines.pytorch.sources.draws import uniform

ROWS = np.arange(20_000)


def test_numbers_lie_in_the_half_open_unit_interval_and_are_even() -> None:
    numbers = uniform(0, 0, ROWS, 4)
    assert numbers.shape == (20_000, 4)
    assert numbers.min() >= 0
    assert numbers.max() < 1
    counts = np.histogram(numbers[:, 2], bins=20, range=(0, 1))[0]
    chi_square = ((counts - 1000) ** 2 / 1000).sum()
    assert chi_square < 43.8  # 99.9 % point of chi-square with 19 degrees of freedom


@pytest.mark.parametrize("other", [
    uniform(0, 0, ROWS + 1, 1)[:, 0], uniform(0, 1, ROWS, 1)[:, 0], uniform(1, 0, ROWS, 1)[:, 0],
    uniform(0, 0, ROWS, 2)[:, 1], uniform(2**62, 0, ROWS, 1)[:, 0],
])  # fmt: skip
def test_rows_epochs_seeds_and_places_are_uncorrelated(other: np.ndarray) -> None:
    first = uniform(0, 0, ROWS, 1)[:, 0]
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.025  # 3.5 standard errors of 20,000 pairs


def test_no_number_comes_twice() -> None:
    numbers = np.concatenate([uniform(seed, epoch, ROWS[:2000], 5) for seed in range(3) for epoch in range(3)])
    assert len(np.unique(numbers)) == numbers.size


def test_a_row_has_the_same_numbers_alone_and_in_any_company() -> None:
    together = uniform(7, 3, ROWS[:100], 6)
    shuffled = np.random.default_rng(0).permutation(100)
    assert (uniform(7, 3, shuffled, 6) == together[shuffled]).all()
    assert (uniform(7, 3, np.array([42]), 3)[0] == together[42, :3]).all()


def test_known_numbers_stay_so_that_a_run_can_be_repeated_years_later() -> None:
    # worked out with Python's unbounded integers, not with numpy
    mask, gamma = 2**64 - 1, 0x9E3779B97F4A7C15

    def mix(state: int) -> int:
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
        state = (state ^ state >> 27) * 0x94D049BB133111EB & mask
        return state ^ state >> 31

    state = mix(mix(mix(5 + gamma & mask) + 3 * gamma & mask) + 12 * gamma & mask)
    expected = [(mix(state + step * gamma & mask) >> 11) / 2**53 for step in (1, 2)]
    assert uniform(5, 2, np.array([11]), 2)[0].tolist() == expected
