"""Further schedules at five steps by hand, and plateau validation by validation."""

from __future__ import annotations

import itertools
import json
import math

import pytest

from torchstone.core import catalog
from torchstone.core.errors import StoneError
from torchstone.parts.schedules.cosine import cosine
from torchstone.parts.schedules.cosine_restarts import cosine_restarts
from torchstone.parts.schedules.exponential import exponential
from torchstone.parts.schedules.inverse_sqrt import inverse_sqrt
from torchstone.parts.schedules.linear import linear
from torchstone.parts.schedules.plateau import plateau
from torchstone.parts.schedules.polynomial import polynomial
from torchstone.parts.schedules.step import step
from torchstone.parts.schedules.warmup_stable_decay import warmup_stable_decay
from torchstone.testing.check_schedule import check_schedule

ALL = [polynomial(), polynomial(power=0.9, warmup=10, floor=0.1), step(), step(milestones=(3, 40), warmup=0.1),
       exponential(), exponential(end=1.0, warmup=7), inverse_sqrt(), inverse_sqrt(warmup=0), inverse_sqrt(warmup=4000),
       warmup_stable_decay(), warmup_stable_decay(decay=0.9, warmup=0.5, shape="linear"),
       warmup_stable_decay(decay=0, warmup=0), warmup_stable_decay(decay=5, shape="cosine", floor=0.1),
       cosine_restarts(), cosine_restarts(cycles=4, growth=1.0, warmup=0, floor=0.05)]


@pytest.mark.parametrize("schedule", ALL)
def test_the_contract_of_these_schedules(schedule):
    check_schedule(schedule)
    assert all(schedule(at, 50) > 0 for at in range(50))


def at(schedule, steps, total):
    return [schedule(number, total) for number in steps]


def test_polynomial_at_five_steps():
    expected = [0.1, 1.0, 0.5**1.5 * 0.8 + 0.2, 0.2, 0.2]
    assert at(polynomial(power=1.5, warmup=10, floor=0.2), (0, 10, 55, 100, 999), 100) == pytest.approx(expected)
    for number in range(0, 120, 7):
        assert polynomial(power=1.0)(number, 100) == pytest.approx(linear()(number, 100))


def test_step_at_its_milestones():
    expected = [1.0, 1.0, 0.1, 0.1, 0.01]
    assert at(step(), (0, 49, 50, 74, 75), 100) == pytest.approx(expected)
    assert at(step(milestones=(10,), factor=0.5, warmup=4), (0, 3, 9, 10, 200), 20) == [0.25, 1.0, 1.0, 0.5, 0.5]


def test_exponential_falls_by_one_factor():
    expected = [1.0, 0.01**0.25, 0.1, 0.01**0.75, 0.01]
    assert at(exponential(warmup=0), (0, 25, 50, 75, 100), 100) == pytest.approx(expected)
    values = at(exponential(warmup=10), range(10, 100), 100)
    ratios = [after / before for before, after in itertools.pairwise(values)]
    assert ratios == pytest.approx([0.01 ** (1 / 90)] * 89)


def test_inverse_sqrt_is_that_of_the_transformer_paper():
    steps = (1, 1000, 4000, 16000, 100000)
    expected = [min(s**-0.5, s * 4000**-1.5) * 4000**0.5 for s in steps]
    assert at(inverse_sqrt(warmup=4000), [s - 1 for s in steps], 200000) == pytest.approx(expected)
    assert at(inverse_sqrt(warmup=0), (0, 3, 99, 100, 500), 100) == pytest.approx([1, 0.5, 0.1, 0.1, 0.1])


def test_warmup_stable_decay_at_five_steps():
    linearly = warmup_stable_decay(warmup=10, decay=0.2, shape="linear", floor=0.1)
    assert at(linearly, (0, 10, 80, 90, 100), 100) == pytest.approx([0.1, 1.0, 1.0, 0.55, 0.1])
    rooted = warmup_stable_decay(warmup=0, decay=40)
    assert at(rooted, (59, 60, 70, 90, 100), 100) == pytest.approx([1, 1, 0.5, 1 - math.sqrt(0.75), 0])
    assert warmup_stable_decay(decay=20, shape="cosine")(90, 100) == pytest.approx(0.5)


@pytest.mark.parametrize("options", [{"cycles": 1001, "growth": 1.0}, {"cycles": 1_000_000}, {"cycles": 22}])
def test_more_cosine_restarts_than_a_run_has_room_for_are_refused(options):
    cosine_restarts(cycles=20, growth=2.0)
    with pytest.raises(StoneError, match=r"more than 1,000 cycles, or a first one of less than a millionth"):
        cosine_restarts(**options)


def test_cosine_restarts_start_anew_and_end_with_the_run():
    restarts = cosine_restarts(cycles=3, growth=2.0, warmup=0)  # 1/7, 2/7 and 4/7 of the run
    assert at(restarts, (0, 5, 10, 20, 30, 50, 70), 70) == pytest.approx([1, 0.5, 1, 0.5, 1, 0.5, 0])
    assert restarts(69, 70) < 0.01
    for number in range(0, 120, 7):
        assert cosine_restarts(cycles=1)(number, 100) == pytest.approx(cosine()(number, 100))


@pytest.mark.parametrize("cycles", [1, 3, 7])
@pytest.mark.parametrize("total", [10, 33, 1000])
def test_cosine_restarts_reach_the_top_once_a_cycle_however_rounding_falls(cycles, total):
    values = at(cosine_restarts(cycles=cycles, growth=1.0, warmup=0), range(total), total)
    rises = sum(after > before for before, after in itertools.pairwise(values))
    assert rises == min(cycles, total) - 1


@pytest.mark.parametrize(("make", "said"), [
    (lambda: polynomial(power=0.0), "power is 0"),
    (lambda: step(factor=1.0), "factor is 1"),
    (lambda: step(milestones=(0.5, 1.0)), "milestones are"),
    (lambda: exponential(end=0.0), "end is 0"),
    (lambda: warmup_stable_decay(shape="round"), "shape is 'round'"),
    (lambda: warmup_stable_decay(decay=1.5), "it must be a share"),
    (lambda: cosine_restarts(cycles=0), "cycles 0"),
    (lambda: plateau(factor=1.5), "factor is 1.5"),
    (lambda: plateau(patience=-1), "none may be below 0"),
])
def test_options_that_make_no_sense_are_refused(make, said):
    with pytest.raises(StoneError, match=said):
        make()


def test_every_schedule_is_found_by_the_name_of_its_file():
    for name in catalog.names("torchstone.parts.schedules"):
        assert callable(catalog.find("torchstone.parts.schedules", name)())


def run(rule, metrics, direction="min"):
    """The multiplier after each validation; the state goes through JSON as in a checkpoint."""
    state, seen = {}, []
    for metric in metrics:
        state = json.loads(json.dumps(rule.update(state, metric, direction)))
        seen.append(rule.multiplier(state))
    return seen


def test_plateau_cuts_after_its_patience_and_counts_anew():
    assert run(plateau(factor=0.5, patience=1), [1.0, 0.9, 0.9, 0.9, 0.9, 0.9, 0.1]) == [1, 1, 1, 0.5, 0.5, 0.25, 0.25]


def test_plateau_follows_metrics_where_more_is_better():
    assert run(plateau(patience=0), [0.5, 0.6, 0.55, 0.7], "max") == pytest.approx([1, 1, 0.1, 0.1])


@pytest.mark.parametrize("missing", [math.nan, math.inf, None])
def test_a_missing_metric_is_neither_good_nor_bad(missing):
    metrics = [1.0, missing, missing, missing, missing, 1.0, 1.0]
    assert run(plateau(patience=1), metrics) == pytest.approx([1, 1, 1, 1, 1, 1, 0.1])
    assert run(plateau(patience=0), [missing, 1.0]) == [1, 1]


def test_plateau_rests_after_a_cut_and_keeps_its_floor():
    rule = plateau(factor=0.1, patience=0, cooldown=2, floor=0.05)
    assert run(rule, [1.0] * 7) == pytest.approx([1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05])


def test_the_threshold_is_on_the_right_side_of_negative_metrics():
    assert run(plateau(patience=0, threshold=0.1), [-1.0, -1.05, -1.2]) == pytest.approx([1, 0.1, 0.1])
    state = plateau().update({}, -1.0)
    assert plateau(threshold=0.1).update(state, -1.2)["best"] == -1.2


def test_plateau_warms_up_and_does_not_pretend_without_a_state():
    rule = plateau(warmup=4)
    assert [rule.at({}, number, 10) for number in (0, 3, 9)] == [0.25, 1, 1]
    assert rule.at({"cuts": 2}, 9, 10) == pytest.approx(0.01)
    with pytest.raises(StoneError, match="does not hand them"):
        rule(0, 10)
