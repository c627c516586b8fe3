"""Easy ones first, small losses alone, hard ones more often: which examples an epoch deals out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchstone.core.catalog import find, names
from torchstone.core.errors import StoneError
from torchstone.parts.samplers import BY_CLASS, ByDifficulty, easiest_first, generator
from torchstone.parts.samplers.curriculum import curriculum
from torchstone.parts.samplers.hard_examples import hard_examples
from torchstone.parts.samplers.self_paced import self_paced
from torchstone.parts.samplers.small_loss import small_loss

NAMES = ("curriculum", "hard_examples", "self_paced", "small_loss")
HARD = np.random.default_rng(0).permutation(200).astype(np.float64)  # example i is the HARD[i]-th easiest


def shares(sampler: ByDifficulty, epochs: int, num: int = 1000) -> list[float]:
    return [sampler.count(num, epoch, epochs) / num for epoch in range(epochs)]


def test_every_sampler_is_tested_here_or_goes_by_class() -> None:
    assert sorted([*NAMES, *BY_CLASS, "shuffled"]) == names("torchstone.parts.samplers")


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(NAMES), seed=st.integers(0, 2**32), epoch=st.integers(0, 12), epochs=st.integers(1, 8),
    difficulty=st.lists(st.floats(0, 5) | st.just(float("nan")), min_size=1, max_size=40),
)  # fmt: skip
def test_any_of_them_deals_what_it_announced_and_the_same_again(
    name: str, seed: int, epoch: int, epochs: int, difficulty: list[float]
) -> None:
    sampler = find("torchstone.parts.samplers", name)()
    array = np.array(difficulty)
    positions = sampler.deal(array, seed, epoch, epochs)
    assert positions.tolist() == sampler.deal(array, seed, epoch, epochs).tolist()
    assert len(positions) == sampler.count(len(array), epoch, epochs) >= 1
    assert positions.min() >= 0
    assert positions.max() < len(array)


@pytest.mark.parametrize("name", NAMES)
def test_an_epoch_after_the_planned_ones_is_as_long_as_the_last(name: str) -> None:
    sampler = find("torchstone.parts.samplers", name)()
    assert sampler.count(200, 5, 6) == sampler.count(200, 9, 6)


@pytest.mark.parametrize("name", ["curriculum", "self_paced", "small_loss"])
def test_the_easiest_are_dealt_once_each_in_an_order_of_their_own(name: str) -> None:
    options: dict[str, Any] = {"small_loss": {"forget": 0.5, "ramp": 2}}.get(name, {"warm_up": 0})
    sampler = find("torchstone.parts.samplers", name)(**options)
    positions = sampler.deal(HARD, 1, 1, 10)
    assert 1 < len(positions) < 200
    assert sorted(HARD[positions]) == list(range(len(positions)))
    assert sorted(HARD[positions]) != HARD[positions].tolist()


def test_equal_difficulty_says_nothing_and_nan_is_hardest() -> None:
    same = self_paced(start=0.5, warm_up=0)
    first, second = (set(same.deal(np.zeros(100), seed, 0, 10).tolist()) for seed in (0, 1))
    assert len(first) == 50
    assert first != second
    order = easiest_first(np.array([2.0, np.nan, 1.0, 0.5, 1.0]), generator(0, 0)).tolist()
    assert (order[0], order[3:]) == (3, [0, 1])


def test_the_paces_of_a_curriculum_with_a_given_difficulty() -> None:
    """Hacohen & Weinshall 2019: from a starting share up, in equal steps, by equal factors, or all at once."""
    grown = [0.2, 0.4, 0.6, 0.8, 1, 1]
    assert shares(curriculum(by="given", start=0.2, full_at=4 / 6), 6) == pytest.approx(grown)
    doubled = [0.125, 0.25, 0.5, 1, 1, 1]
    assert shares(curriculum(by="given", pace="exponential", start=0.125, full_at=0.5), 6) == doubled
    assert shares(curriculum(by="given", pace="step", start=0.3, full_at=0.5), 6) == [0.3, 0.3, 0.3, 1, 1, 1]
    assert shares(curriculum(by="given", full_at=0), 3) == [1, 1, 1]


def test_a_measured_curriculum_begins_with_all_and_measures_once() -> None:
    sampler = curriculum(start=0.5, full_at=1.0, warm_up=2)
    assert shares(sampler, 6) == pytest.approx([1, 1, 0.5, 0.625, 0.75, 0.875])
    assert [epoch for epoch in range(9) if sampler.is_due(epoch)] == [2]
    assert not any(curriculum(by="given").is_due(epoch) for epoch in range(9))


def test_self_paced_grows_to_its_end_and_measures_again() -> None:
    sampler = self_paced(start=0.4, end=0.8, full_at=0.5, warm_up=1, every=2)
    assert shares(sampler, 10) == pytest.approx([1, 0.4, 0.5, 0.6, 0.7, 0.8, 0.8, 0.8, 0.8, 0.8])
    assert [epoch for epoch in range(7) if sampler.is_due(epoch)] == [1, 3, 5]


def test_small_loss_forgets_as_co_teaching_does() -> None:
    """R(T) = 1 - min(T/T_k · tau, tau) of Han et al. 2018, algorithm 1."""
    expected = [1 - min(t / 4 * 0.4, 0.4) for t in range(8)]
    assert shares(small_loss(forget=0.4, ramp=4), 8) == pytest.approx(expected)
    assert not small_loss().is_due(0)


def test_hard_examples_come_by_rank_as_often_as_the_paper_says() -> None:
    """Loshchilov & Hutter 2015: p of rank i is 1/exp(ln(s)/N)^i, divided by the sum; s falls by equal factors."""
    sampler = hard_examples(pressure=100, uniform=0, warm_up=0)
    for epoch, pressure in ((0, 100.0), (2, 10.0), (4, 1.0)):
        drawn = np.zeros(200)
        for seed in range(50):
            drawn += np.bincount(sampler.deal(HARD, seed, epoch, 5), minlength=200)
        chances = 1 / np.exp(np.log(pressure) / 200) ** np.arange(200)
        expected = 200 * chances / chances.sum()
        by_rank = (drawn / 50)[np.argsort(-HARD)]
        assert np.abs(by_rank - expected).max() < 0.35
        assert by_rank[:20].sum() == pytest.approx(expected[:20].sum(), rel=0.03)


def test_hard_examples_leave_none_out_for_longer_than_a_round() -> None:
    sampler = hard_examples(pressure=1e6, final_pressure=1e6, uniform=0.3, warm_up=1)
    assert sorted(sampler.deal(HARD, 3, 0, 20).tolist()) == list(range(200))
    for begin in (1, 5, 9):
        seen = {int(p) for epoch in range(begin, begin + 4) for p in sampler.deal(HARD, 3, epoch, 20)}
        assert seen == set(range(200))
    assert len({tuple(sampler.deal(HARD, 3, epoch, 20)) for epoch in range(1, 9)}) == 8


@pytest.mark.parametrize(("bad", "name"), [
    (lambda: curriculum(start=0), "start"), (lambda: curriculum(full_at=2), "full_at"),
    (lambda: self_paced(start=0.8, end=0.5), "end"), (lambda: self_paced(every=0), "every"),
    (lambda: small_loss(forget=1), "forget"), (lambda: small_loss(ramp=0), "ramp"),
    (lambda: hard_examples(pressure=0.5), "pressure"), (lambda: hard_examples(uniform=1.1), "uniform"),
])  # fmt: skip
def test_options_by_difficulty_out_of_range_are_named(bad: Any, name: str) -> None:
    with pytest.raises(StoneError, match="must be") as caught:
        bad()
    assert caught.value.where == f"sampler.{name}"


def test_warm_up_beside_a_given_difficulty_is_an_error_and_not_ignored() -> None:
    with pytest.raises(StoneError, match="no effect"):
        curriculum(by="given", warm_up=1)
