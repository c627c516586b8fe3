"""Intervals hold the true value about as often as they promise."""

import math
import time

import numpy as np
import pytest

from torchstone.core.errors import StoneError
from torchstone.parts.intervals import interval
from torchstone.parts.intervals.bootstrap import bootstrap
from torchstone.parts.intervals.wilson import wilson
from torchstone.parts.metrics.macro_f1 import macro_f1
from torchstone.parts.metrics.mae import mae
from torchstone.parts.metrics.mean_average_precision import mean_average_precision


@pytest.mark.parametrize(
    "hits, total, low, high",
    # Newcombe 1998, Statistics in Medicine 17, table I, method 3 (the score method).
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_equals_the_published_table(hits, total, low, high):
    assert wilson(hits, total) == pytest.approx((low, high), abs=5e-5)


def test_wilson_stays_within_its_bounds_and_mirrors():
    assert wilson(20, 20)[1] == 1.0
    assert wilson(17, 20) == pytest.approx(tuple(1 - x for x in reversed(wilson(3, 20))))
    assert all(math.isnan(x) for x in wilson(0, 0))


def test_wilson_at_another_level_is_wider():
    assert wilson(30, 100, level=0.99)[0] < wilson(30, 100)[0] < wilson(30, 100, level=0.5)[0]


def _set(seed, num, classes=4):
    draw = np.random.default_rng(seed)
    target = draw.integers(0, classes, num)
    said = np.where(draw.random(num) < 0.7, target, draw.integers(0, classes, num))
    return np.eye(classes, dtype=np.float32)[said], target


def test_drawing_cells_of_the_confusion_matrix_agrees_with_drawing_examples():
    scores, target = _set(0, 300)

    def slow(s, t):  # the same metric, unknown to the shortcut
        return macro_f1(s, t)

    fast_ends = bootstrap(macro_f1, scores, target, resamples=4000)
    slow_ends = bootstrap(slow, scores, target, resamples=4000)
    assert fast_ends == pytest.approx(slow_ends, abs=0.004)


def test_weighting_examples_is_the_same_as_drawing_them():
    draw = np.random.default_rng(7)
    target = (draw.random((150, 3)) < 0.3).astype(np.uint8)
    scores = np.round(np.clip(target * 0.3 + draw.random((150, 3)) * 0.7, 0, 1), 2)  # with ties

    def slow(s, t):  # the same metric, unknown to the shortcut
        return mean_average_precision(s, t)

    fast_ends = bootstrap(mean_average_precision, scores, target, resamples=200, seed=3)
    assert fast_ends == pytest.approx(bootstrap(slow, scores, target, resamples=200, seed=3), abs=1e-12)


def test_the_bootstrap_of_a_mean_agrees_with_its_standard_error():
    draw = np.random.default_rng(1)
    target = np.zeros(2000)
    scores = draw.exponential(size=2000)
    low, high = bootstrap(mae, scores, target)
    half = 1.96 * scores.std() / math.sqrt(2000)
    assert (low, high) == pytest.approx((scores.mean() - half, scores.mean() + half), abs=0.1 * half)


def test_a_seed_gives_the_same_interval_again():
    scores, target = _set(2, 200)
    assert interval("macro_f1", scores, target, seed=5) == interval("macro_f1", scores, target, seed=5)
    assert interval("macro_f1", scores, target, seed=5) != interval("macro_f1", scores, target, seed=6)


def test_the_interval_of_macro_f1_covers_the_true_value_about_as_often_as_it_says():
    truth = macro_f1(*_set(99, 200_000))
    covered = 0
    for seed in range(100):
        low, high = interval("macro_f1", *_set(seed, 250), seed=seed)
        covered += low <= truth <= high
    assert 88 <= covered <= 100


def test_accuracy_takes_wilson():
    scores, target = _set(3, 150)
    hits = int((scores.argmax(1) == target).sum())
    assert interval("accuracy", scores, target) == wilson(hits, 150)


@pytest.mark.parametrize("name", ["accuracy", "macro_f1"])
def test_what_is_undefined_has_no_interval(name):
    scores, target = _set(3, 20)
    assert all(math.isnan(x) for x in interval(name, scores[:0], target[:0]))
    scores[0, 0] = np.nan
    assert all(math.isnan(x) for x in interval(name, scores, target))


def test_an_unknown_metric_is_named():
    with pytest.raises(StoneError, match="macro_f"):
        interval("macro_f", *_set(0, 10))


def test_ten_thousand_examples_of_77_classes_take_moments():
    scores, target = _set(4, 10_000, classes=77)
    start = time.process_time()
    low, high = interval("macro_f1", scores, target)
    assert low < macro_f1(scores, target) < high
    assert time.process_time() - start < 5
