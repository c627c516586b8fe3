"""What a table source learns, and from which rows."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
import torch
from hand_made import a_dataset, a_plan
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.sources.numeric import encode_numbers, fit_numbers
from torchstone.engines.pytorch.sources.table import MOST_CATEGORIES, fit, open_source, shape

NAN = float("nan")


def numbers_of(values, split, target=None):
    data = a_dataset({"x": values}, {"x": "number"}, target if target is not None else [0] * len(split), split)
    encoding = json.loads(json.dumps(fit(data, a_plan())))
    source = open_source(data, encoding, a_plan())
    return encoding, source.batch(np.arange(len(split)), None).inputs[0].numpy()


def test_numbers_are_standardised_as_scikit_learn_does_on_the_training_rows_alone():
    values = np.random.default_rng(0).normal(50, 7, 200)
    split = ["train"] * 150 + ["test"] * 50
    _, encoded = numbers_of(values, split)
    reference = StandardScaler().fit(values[:150, None]).transform(values[:, None])
    np.testing.assert_allclose(encoded, reference, atol=1e-5)


def test_what_validation_and_test_hold_changes_nothing_that_is_learnt():
    split = ["train"] * 4 + ["validation", "test"]
    one, _ = numbers_of([1, 2, 3, 4, 5, 6], split)
    other, _ = numbers_of([1, 2, 3, 4, 1e9, NAN], split)
    assert one == other


def test_a_constant_column_becomes_zero():
    _, encoded = numbers_of([0.1] * 7, ["train"] * 6 + ["test"])
    assert np.abs(encoded).max() < 1e-6


def test_a_gap_becomes_the_training_median_and_a_column_that_says_so():
    encoding, encoded = numbers_of([1, 2, 30, NAN, NAN], ["train"] * 4 + ["test"])
    assert encoding["numbers"][0]["median"] == 2
    assert encoded[:, 1].tolist() == [0, 0, 0, 1, 1]
    assert encoded[3, 0] == encoded[1, 0] == encoded[4, 0]
    assert shape(encoding, 2).numbers == 2


def test_a_gap_outside_the_training_part_alone_is_filled_without_a_column():
    encoding, encoded = numbers_of([1, 2, 30, NAN], ["train"] * 3 + ["test"])
    assert encoded.shape == (4, 1)
    assert encoded[3, 0] == encoded[1, 0]
    assert shape(encoding, 2).numbers == 1


def test_a_column_without_any_training_value_is_zero_everywhere_it_is_missing():
    _, encoded = numbers_of([NAN, NAN, NAN, 4], ["train"] * 3 + ["test"])
    assert np.isfinite(encoded).all()
    assert encoded[:3, 0].tolist() == [0, 0, 0]
    assert encoded[:, 1].tolist() == [1, 1, 1, 0]


def test_infinity_counts_as_missing():
    _, encoded = numbers_of([1, 2, float("inf"), -float("inf")], ["train"] * 4)
    assert encoded[:, 1].tolist() == [0, 0, 1, 1]
    assert np.isfinite(encoded).all()


def test_one_absurd_training_value_does_not_flatten_the_others():
    values = np.append(np.random.default_rng(1).normal(0, 1, 999), 1e12)
    encoded = encode_numbers(fit_numbers("x", values), values)[0]
    assert np.std(encoded[:999]) > 0.9
    assert np.abs(encoded).max() < 5
    assert (np.diff(encoded[np.argsort(values)]) >= 0).all()


def test_a_heavy_tail_is_bent_like_a_quantile_transformation():
    values = np.random.default_rng(2).lognormal(0, 2.5, 2000)
    learnt = fit_numbers("x", values)
    assert len(learnt["knots"]) > 50
    encoded = encode_numbers(learnt, values)[0]
    reference = QuantileTransformer(output_distribution="normal", n_quantiles=1000).fit_transform(values[:, None])
    inside = np.abs(reference[:, 0]) < 2
    assert np.abs(encoded - reference[:, 0])[inside].max() < 0.15


def test_a_new_value_far_outside_is_held_within_ten_deviations():
    learnt = fit_numbers("x", np.arange(100.0))
    assert encode_numbers(learnt, np.array([1e300, -1e300]))[0].tolist() == [10, -10]


def test_huge_numbers_do_not_overflow():
    learnt = fit_numbers("x", np.array([1e308, -1e308, 0.0, 5e307]))
    assert np.isfinite(encode_numbers(learnt, np.array([1e308, -1e308]))[0]).all()


def test_categories_are_numbered_by_training_frequency_and_zero_is_missing_or_new():
    split = ["train"] * 6 + ["test"] * 3
    data = a_dataset({"c": ["b", "a", "b", None, "c", "b", "b", "new", None]}, {"c": "category"}, [0] * 9, split)
    encoding = fit(data, a_plan())
    assert encoding["categories"] == [{"name": "c", "values": ["b", "a", "c"]}]
    numbers, categories = open_source(data, encoding, a_plan()).batch(np.arange(9), None).inputs
    assert categories[:, 0].tolist() == [1, 2, 1, 0, 3, 1, 1, 0, 0]
    assert numbers.shape == (9, 0)
    assert shape(encoding, 2).categories == (4,)


def test_ten_thousand_categories_are_kept_and_beyond_the_limit_the_rarest_go():
    many = [f"c{i}" for i in range(MOST_CATEGORIES + 10)] + ["c7"]
    data = a_dataset({"c": many}, {"c": "category"}, [0] * len(many), ["train"] * len(many))
    assert shape(fit(data.take(np.arange(10_000)), a_plan()), 2).categories == (10_001,)
    encoding = fit(data, a_plan())
    assert encoding["categories"][0]["values"][0] == "c7"
    assert shape(encoding, 2).categories == (MOST_CATEGORIES + 1,)


def test_the_target_is_learnt_standardised_and_comes_back():
    target = np.array([10.0, 20.0, 30.0, 1000.0])
    encoding, _ = numbers_of([1, 2, 3, 4], ["train"] * 3 + ["test"], target)
    assert encoding["target_mean"] == pytest.approx(20)
    data = a_dataset({"x": [1, 2, 3, 4]}, {"x": "number"}, target, ["train"] * 3 + ["test"])
    batch = open_source(data, encoding, a_plan()).batch(np.arange(4), None)
    assert batch.target.dtype == torch.float32
    back = batch.target.numpy() * encoding["target_std"] + encoding["target_mean"]
    np.testing.assert_allclose(back, target, rtol=1e-6)


def test_a_constant_target_is_no_division_by_zero():
    encoding, _ = numbers_of([1, 2, 3], ["train"] * 3, np.array([5.0, 5.0, 5.0]))
    assert encoding["target_std"] == 1


def test_several_labels_become_float():
    data = a_dataset({"x": [1, 2]}, {"x": "number"}, np.array([[0, 1], [1, 1]], dtype=np.uint8), ["train"] * 2)
    batch = open_source(data, fit(data, a_plan()), a_plan()).batch(np.array([1]), None)
    assert batch.target.dtype == torch.float32
    assert batch.target.tolist() == [[1, 1]]


def test_a_batch_holds_the_rows_that_were_asked_for_in_their_order():
    data = a_dataset({"x": [0, 1, 2, 3]}, {"x": "number"}, [0, 1, 2, 3], ["train"] * 4)
    batch = open_source(data, fit(data, a_plan()), a_plan()).batch(np.array([3, 0, 3]), 5)
    assert batch.target.tolist() == [3, 0, 3]
    assert batch.inputs[0][0] == batch.inputs[0][2]


def test_text_and_no_columns_are_refused_with_their_names():
    with pytest.raises(StoneError, match=r"note \(text\)"):
        fit(a_dataset({"note": ["a"]}, {"note": "text"}, [0], ["train"]), a_plan())
    with pytest.raises(StoneError, match="no column"):
        fit(a_dataset({}, {}, [0], ["train"]), a_plan())


def test_a_batch_of_64_rows_costs_microseconds():
    values = np.random.default_rng(0).normal(size=(10, 5000))
    names = [f"x{j}" for j in range(10)]
    data = a_dataset(
        dict(zip(names, values, strict=True)), dict.fromkeys(names, "number"), [0] * 5000, ["train"] * 5000
    )
    source = open_source(data, fit(data, a_plan()), a_plan())
    rows = np.random.default_rng(1).permutation(5000)[:64]
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(50):
            source.batch(rows, 0)
        best = min(best, (time.perf_counter() - start) / 50)
    assert best < 100e-6, f"{best * 1e6:.0f} µs; 8 µs when it was written"
