"""RUN614: huge first steps, then a guess; what looks like a rate far too low is not told beside it."""

from __future__ import annotations

import pytest

from torchstone.rules._watched import toy_loop, toy_loss
from torchstone.rules.health.thrown_by_first_steps import RULE
from torchstone.rules.health.update_too_small import RULE as TOO_SMALL


def loop(course, num=80, more=None, **first):
    def change(number, row):
        return {"loss": course(number), **(first if number == 1 else {})}

    return toy_loop(num, change=change, more=[toy_loss()] if more is None else more)


def guess(number):
    return 1.4 + 0.01 * (-1) ** number


def jump(number):
    return 9.0 if number == 4 else guess(number)


@pytest.mark.parametrize(("course", "ratio"), [(jump, 1e-3), (guess, 0.4)])
def test_a_jump_or_one_large_update_before_a_guess_is_told(course, ratio):
    (finding,) = RULE.check(loop(course, update_ratio=ratio))
    assert finding.evidence["guess"] == pytest.approx(1.38)
    assert "tenfold" in finding.fix


def test_a_guess_alone_has_other_causes():
    assert list(RULE.check(loop(guess))) == []


def test_a_jump_that_training_comes_back_from_is_none():
    assert list(RULE.check(loop(lambda number: 9.0 if number == 4 else 1.4 * 0.98**number))) == []
    assert list(RULE.check(loop(lambda number: 9.0 if number == 4 else 1.9 - 0.006 * number))) == []


def test_too_few_steps_and_other_targets_are_not_judged():
    assert list(RULE.check(loop(jump, num=50))) == []
    assert list(RULE.check(loop(jump, more=[toy_loss(entropy=None)]))) == []
    few = toy_loss(entropy=0.0, target_shape=[2], input_shape=[2, 4])
    assert list(RULE.check(loop(jump, more=[few]))) == []


def test_a_rate_that_once_moved_the_weights_is_not_called_too_low():
    def change(number, row):
        return {"update_ratio": (0.4 if number == 1 else 0.0) if number % 10 == 1 else None}

    def tiny(number, row):
        return {"update_ratio": 1e-9 if number % 10 == 1 else None}

    assert list(TOO_SMALL.check(toy_loop(80, change=change))) == []
    assert [finding.code for finding in TOO_SMALL.check(toy_loop(80, change=tiny))] == ["RUN603"]
