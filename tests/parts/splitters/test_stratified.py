"""Claims about the stratified split."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchstone.core.errors import StoneError
from torchstone.parts.splitters.stratified import regression_bins, stratified

examples = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 30)), min_size=1, max_size=120)
shares = st.sampled_from([(0.7, 0.15, 0.15), (0.8, 0.1, 0.1), (0.6, 0.4, 0.0), (0.9, 0.0, 0.1), (1.0, 0.0, 0.0)])


def arrays(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


@given(examples, shares, st.integers(0, 2**63 - 1))
@settings(max_examples=150, deadline=None)
def test_every_example_has_one_part_groups_stay_whole_and_train_sees_every_class(pairs, shares, seed):
    labels, groups = arrays(pairs)
    split = stratified(labels, groups, shares=shares, seed=seed)
    assert len(split) == len(labels)
    assert set(split) <= {"train", "validation", "test"}
    assert all(len(set(split[groups == group])) == 1 for group in set(groups.tolist()))
    assert set(labels[split == "train"]) == set(labels)
    assert (split == "validation").sum() == 0 or shares[1] > 0
    assert (split == "test").sum() == 0 or shares[2] > 0


@given(st.lists(st.integers(0, 8), min_size=1, max_size=300), shares, st.integers(0, 1000))
@settings(max_examples=150, deadline=None)
def test_single_examples_are_within_one_of_their_share_in_classes_large_enough_for_it(labels, shares, seed):
    labels = np.array(labels)
    split = stratified(labels, np.arange(len(labels)), shares=shares, seed=seed)
    for label, count in Counter(labels.tolist()).items():
        if count * min(share for share in shares if share > 0) >= 1:
            for name, share in zip(("train", "validation", "test"), shares, strict=True):
                assert abs((split[labels == label] == name).sum() - count * share) < 1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), min_size=40, max_size=90), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_groups_of_one_label_are_within_one_group_of_their_share(kinds, seed):
    labels = np.repeat([label for label, _ in kinds], [size for _, size in kinds])
    groups = np.repeat(np.arange(len(kinds)), [size for _, size in kinds])
    split = stratified(labels, groups, seed=seed)
    for label in set(labels.tolist()):
        sizes = [size for kind, size in kinds if kind == label]
        if len(sizes) >= 10:
            for name, share in zip(("train", "validation", "test"), (0.7, 0.15, 0.15), strict=True):
                assert abs((split[labels == label] == name).sum() - sum(sizes) * share) <= max(sizes)


@given(examples, st.permutations(range(7)), st.integers(0, 100))
@settings(max_examples=60, deadline=None)
def test_the_numbering_of_classes_and_groups_plays_no_part(pairs, numbers, seed):
    labels, groups = arrays(pairs)
    renamed = stratified(np.array(numbers)[labels], 1000 - groups, seed=seed)
    assert (renamed == stratified(labels, groups, seed=seed)).all()


@pytest.mark.parametrize(
    ("count", "parts"),
    [(1, (1, 0, 0)), (2, (1, 1, 0)), (3, (2, 1, 0)), (4, (2, 1, 1)), (5, (3, 1, 1)), (20, (14, 3, 3))],
)
def test_a_class_of_few_examples_follows_the_stated_rule(count, parts):
    split = stratified(np.zeros(count, dtype=np.int64), np.arange(count))
    assert tuple((split == name).sum() for name in ("train", "validation", "test")) == parts


def test_many_small_classes_do_not_starve_the_test_part():
    labels = np.repeat(np.arange(200), 9)  # 6.3, 1.35, 1.35: rounding each class alone would favour one part
    split = stratified(labels, np.arange(len(labels)))
    counts = [int((split == name).sum()) for name in ("train", "validation", "test")]
    assert counts == pytest.approx([1260, 270, 270], abs=1)


def test_a_class_that_only_lies_in_groups_of_another_class_is_still_trained_on():
    labels = np.array([0, 1] * 10 + [2, 0] * 4 + [0] * 50)
    groups = np.array([i // 2 for i in range(28)] + list(range(100, 150)))
    for seed in range(30):
        split = stratified(labels, groups, seed=seed)
        assert set(labels[split == "train"]) == {0, 1, 2}


def test_the_same_seed_gives_the_same_split_for_ever():
    split = stratified(np.arange(12) % 2, np.arange(12), seed=7)
    assert "".join(name[1] for name in split) == "rrarrrrerrea"  # the second letters of tRain, vAlidation, tEst
    others = [tuple(stratified(np.arange(12) % 2, np.arange(12), seed=seed)) for seed in range(20)]
    assert len(set(others)) > 10


def test_no_examples_give_no_parts():
    assert len(stratified(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))) == 0


@pytest.mark.parametrize("shares", [(0.5, 0.2, 0.2), (0.0, 0.5, 0.5), (1.2, -0.1, -0.1), (0.5, 0.5)])
def test_shares_that_make_no_sense_are_refused(shares):
    with pytest.raises(StoneError, match="add up to 1"):
        stratified(np.zeros(3, dtype=np.int64), np.arange(3), shares=shares)


def test_arrays_of_different_lengths_are_refused():
    with pytest.raises(StoneError, match="both must be"):
        stratified(np.zeros(3, dtype=np.int64), np.arange(4))


def test_bins_of_a_number_are_equally_full_and_keep_equal_values_together():
    target = np.random.default_rng(0).normal(size=1000)
    assert np.bincount(regression_bins(target)).tolist() == [100] * 10
    tied = np.array([0.0] * 80 + list(range(1, 21)))
    assert len(set(regression_bins(tied)[:80].tolist())) == 1


def test_few_numbers_are_put_into_fewer_bins():
    assert len(set(regression_bins(np.arange(35.0)).tolist())) == 3
    assert set(regression_bins(np.arange(5.0)).tolist()) == {0}


def test_a_missing_number_is_named():
    with pytest.raises(StoneError, match="1 of 3"):
        regression_bins(np.array([1.0, np.nan, 2.0]))
