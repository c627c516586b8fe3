"""Schedules at five steps, by hand."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from torchstone.core.errors import StoneError
from torchstone.parts.schedules.constant import constant
from torchstone.parts.schedules.cosine import cosine
from torchstone.parts.schedules.linear import linear
from torchstone.parts.schedules.one_cycle import one_cycle
from torchstone.testing.check_schedule import check_schedule

ALL = [constant(), constant(warmup=0.2), constant(warmup=5), linear(), linear(floor=0.1), linear(warmup=3), cosine(),
       cosine(warmup=0), cosine(warmup=50, floor=0.2), one_cycle(), one_cycle(peak=0.5, start=0.1, end=0.01)]


@pytest.mark.parametrize("schedule", ALL)
def test_the_contract_of_schedules(schedule):
    check_schedule(schedule)


def at(schedule, steps, total):
    return [schedule(step, total) for step in steps]


def test_constant_with_warmup():
    assert at(constant(warmup=4), (0, 1, 3, 4, 99), 100) == [0.25, 0.5, 1.0, 1.0, 1.0]


def test_linear_falls_from_the_end_of_warmup_to_its_floor():
    assert at(linear(warmup=0.1, floor=0.2), (0, 9, 10, 55, 100), 100) == pytest.approx([0.1, 1.0, 1.0, 0.6, 0.2])


def test_cosine_is_one_third_and_two_thirds_down_where_the_cosine_is():
    expected = [1.0, (1 + math.sqrt(0.5)) / 2, 0.5, (1 - math.sqrt(0.5)) / 2, 0.0]
    assert at(cosine(warmup=20), (20, 40, 60, 80, 100), 100) == pytest.approx(expected)
    assert cosine(warmup=0, floor=0.1)(50, 100) == pytest.approx(0.55)


def test_a_warmup_longer_than_the_run_is_cut_off_where_it_stands():
    assert at(cosine(warmup=10), (0, 3, 4, 9), 4) == [0.1, 0.4, 0.4, 0.4]


def test_no_step_of_a_run_is_lost_to_a_rate_of_zero():
    for schedule in ALL:
        assert all(schedule(step, 50) > 0 for step in range(50))


@pytest.mark.parametrize("warmup", [-1, 1.0, 1.5, -0.1])
def test_a_warmup_that_makes_no_sense_is_refused(warmup):
    with pytest.raises(StoneError, match="warmup is"):
        cosine(warmup=warmup)


def test_a_floor_or_a_peak_that_makes_no_sense_is_refused():
    with pytest.raises(StoneError, match="floor is 2"):
        linear(floor=2.0)
    with pytest.raises(StoneError, match="peak 1"):
        one_cycle(peak=1.0)
    with pytest.raises(StoneError, match=r"momentum is from 0\.9 to 0\.8"):
        one_cycle(momentum=(0.9, 0.8))


def test_schedules_need_no_numpy():
    code = "import sys, torchstone.parts.schedules.cosine; sys.exit('numpy' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
