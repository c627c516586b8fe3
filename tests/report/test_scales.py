"""Scales keep what they draw inside, and long curves keep their extremes."""

import math

import numpy as np
import pytest

from torchstone.report.scales import MAX_POINTS, Scale, curve, log_ticks, number, scale, score, ticks


def test_a_scale_maps_its_ends_to_its_pixels():
    x = Scale(2, 6, 100, 500)
    assert [x(2), x(4), x(6)] == [100, 300, 500]
    y = Scale(0.01, 100, 200, 0, is_log=True)
    assert [y(0.01), y(1), y(100)] == pytest.approx([200, 100, 0])
    assert y(0) == 200


@pytest.mark.parametrize(
    "values", [[1.0], [0.0, 0.0], [-3.0, 5e6], [math.nan], [], [1e-9, 2e-9], [math.inf, 2.0, 3.0], [-1.0]]
)
@pytest.mark.parametrize("is_log", [False, True])
def test_every_finite_value_stands_between_the_ends(values, is_log):
    made = scale(np.array(values, dtype=np.float64), 0, 100, is_log=is_log)
    for value in values:
        if math.isfinite(value):
            assert -1e-6 <= made(value) <= 100 + 1e-6
    assert all(-1e-6 <= made(tick) <= 100 + 1e-6 for tick in made.ticks())


def test_a_scale_from_zero_starts_at_zero():
    assert scale(np.array([5.0, 9.0]), 0, 100, from_zero=True)(0) == 0


def test_ticks_are_round():
    assert ticks(0, 10) == [0, 2, 4, 6, 8, 10]
    assert ticks(0.13, 0.47, 4) == [0.2, 0.3, 0.4]
    assert ticks(-1, 1, 2) == [-1, 0, 1]
    assert log_ticks(0.5, 2000) == [1, 10, 100, 1000]
    assert log_ticks(1.5, 30) == [2, 5, 10, 20]


@pytest.mark.parametrize(
    "value, text",
    [(None, "–"), (math.nan, "–"), (math.inf, "–"), (0, "0"), (1234567, "1,234,567"), (0.12345, "0.1235"),
     (12345.6, "12,346"), (1.5e-7, "1.5e-07"), (-3.0, "-3"), (3e12 + 0.5, "3e+12")],
)  # fmt: skip
def test_numbers_are_written_short(value, text):
    assert number(value) == text


def test_a_score_keeps_three_decimals_so_that_interval_and_value_line_up():
    assert [score(v) for v in (0.95, 0.9501, 1.0)] == ["0.950", "0.950", "1.000"]
    assert [score(v) for v in (math.nan, 52.25, 1e-5)] == ["–", "52.25", "1e-05"]


def test_a_short_curve_is_drawn_as_it_is():
    made = curve("loss", [1, 2, 3], [0.5, None, 0.25])
    np.testing.assert_array_equal(made.y, [0.5, np.nan, 0.25])
    assert made.low is None


def test_a_long_curve_keeps_its_spike_its_mean_and_its_gap():
    num = 100_003
    y = np.ones(num)
    y[77_777] = 1e6
    y[10_000:12_000] = np.nan
    made = curve("loss", np.arange(num), y)
    assert len(made.x) == len(made.y) == MAX_POINTS
    assert np.nanmax(made.high) == 1e6
    assert np.nanmin(made.low) == 1
    assert np.isnan(made.y).any()
    bucket = int(np.nanargmax(made.high))
    assert made.y[bucket] == pytest.approx((1e6 + 249) / 250, rel=0.01)
    assert made.x[-1] == num - 1
