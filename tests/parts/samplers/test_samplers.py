"""Which examples an epoch deals out, and how often."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchstone.core.catalog import find
from torchstone.core.errors import StoneError
from torchstone.parts.samplers import BY_CLASS
from torchstone.parts.samplers.class_balanced import class_balanced
from torchstone.parts.samplers.oversampled import oversampled
from torchstone.parts.samplers.shuffled import shuffled
from torchstone.parts.samplers.undersampled import undersampled

LABELS = np.repeat([0, 1, 2], [60, 30, 10])


def counts(positions: np.ndarray) -> list[int]:
    return np.bincount(LABELS[positions], minlength=3).tolist()


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(["shuffled", *BY_CLASS]), seed=st.integers(0, 2**32), epoch=st.integers(0, 5),
    labels=st.lists(st.integers(0, 4), min_size=1, max_size=40),
)  # fmt: skip
def test_any_sampler_is_a_pure_function_of_seed_and_epoch(name: str, seed: int, epoch: int, labels: list[int]) -> None:
    order = find("torchstone.parts.samplers", name)()
    array = np.array(labels)
    positions = order(array, seed, epoch)
    assert positions.tolist() == order(array, seed, epoch).tolist()
    assert positions.min() >= 0
    assert positions.max() < len(labels)
    assert len(positions) == len(order(array, seed, epoch + 1))


def test_shuffled_deals_each_once() -> None:
    assert sorted(shuffled()(LABELS, 1, 2).tolist()) == list(range(100))


def test_oversampled_makes_classes_equal_and_leaves_none_out() -> None:
    positions = oversampled()(LABELS, 0, 0)
    assert counts(positions) == [60, 60, 60]
    repeats = Counter(positions.tolist())
    assert set(repeats) == set(range(100))
    assert {repeats[i] for i in range(90, 100)} == {6}
    assert counts(oversampled(share=0.5)(LABELS, 0, 0)) == [60, 30, 30]


def test_undersampled_thins_anew_in_each_epoch() -> None:
    first, second = (undersampled()(LABELS, 0, epoch) for epoch in (0, 1))
    assert counts(first) == counts(second) == [10, 10, 10]
    assert set(first.tolist()) != set(second.tolist())
    assert len(set(first.tolist())) == 30
    assert counts(undersampled(ratio=2)(LABELS, 0, 0)) == [20, 20, 10]


@pytest.mark.parametrize(("power", "expected"), [(0.0, [33, 34, 33]), (1.0, [60, 30, 10])])
def test_class_balanced_draws_as_many_as_there_are(power: float, expected: list[int]) -> None:
    assert counts(class_balanced(power=power)(LABELS, 0, 0)) == expected


def test_square_root_sampling_lies_between() -> None:
    roots = np.sqrt([60, 30, 10])
    drawn = counts(class_balanced(power=0.5)(LABELS, 0, 0))
    assert sum(drawn) == 100
    assert np.abs(np.array(drawn) - 100 * roots / roots.sum()).max() <= 1


@pytest.mark.parametrize(
    "bad", [lambda: oversampled(share=0), lambda: undersampled(ratio=0.5), lambda: class_balanced(power=2)]
)
def test_options_out_of_range_are_named(bad: object) -> None:
    with pytest.raises(StoneError, match="must be"):
        bad()  # type: ignore[operator]
