"""RUN813: a jump at first and a guess ever since; not where something is learnt, where it rises, or by chance."""

from __future__ import annotations

import math

import pytest

from torchstone.core.catalog import all_rules
from torchstone.rules._curves import toy_history
from torchstone.rules.curves.thrown_to_guessing import RULE

# Means of epochs and of validations, measured: an MLP on scikit-learn's digits under SGD with a rate of 8.
TRAIN = [10.89, 2.351, 2.354, 2.353, 2.36, 2.346, 2.339, 2.356, 2.348, 2.351, 2.344, 2.362, 2.35, 2.353, 2.344]


def epochs(train, **more):
    return toy_history(len(train), train=lambda e: train[e], train_score=None, **more)


def test_epochs_at_a_rate_of_eight_are_told_by_what_guessing_costs():
    history = epochs(TRAIN, validation=lambda e: 2.35 + 0.01 * (-1) ** e, score=lambda e: 0.0982)
    (finding,) = RULE.check(history)
    assert finding.evidence["bound"] == pytest.approx(-math.log(0.0982))
    assert (finding.severity, finding.confidence, finding.where.step) == ("warning", "likely", 1)


@pytest.mark.parametrize("score", [0.35, 0.9])
def test_a_model_that_learnt_all_it_can_in_one_epoch_is_not_at_a_guess(score):
    history = epochs(TRAIN, validation=lambda e: 2.35 + 0.01 * (-1) ** e, score=lambda e: score)
    assert list(RULE.check(history)) == []


def test_epochs_without_a_score_prove_nothing():
    assert list(RULE.check(epochs(TRAIN, validation=lambda e: 2.35, score=None))) == []


def steps(late, **more):
    return toy_history(200, train=lambda e: 2.3 if e == 0 else late + 150 * 0.5**e + 0.1 * math.sin(5 * e),
                       **{"validation": None, "score": None, "train_score": None, **more})  # fmt: skip


def test_single_steps_are_told_by_their_first_value():
    (finding,) = RULE.check(steps(3.0))
    assert finding.evidence["first"] == 2.3
    assert finding.evidence["peak"] > 70
    assert list(RULE.check(steps(1.5))) == []


def test_a_loss_that_gets_harder_while_the_score_gains_is_no_fault():
    assert list(RULE.check(steps(3.0, score=lambda e: 0.1 + 0.004 * e))) == []


def test_a_jump_that_is_still_coming_down_is_not_judged():
    slow = toy_history(200, train=lambda e: 2.3 if e == 0 else 9 - 0.025 * e, validation=None, score=None)
    assert list(RULE.check(slow)) == []


def test_no_other_rule_says_the_same_beside_it():
    history = steps(3.0)
    codes = {finding.code for rule in all_rules("torchstone.rules.curves") for finding in rule.check(history)}
    assert codes - set(RULE.explains) == {"RUN813"}
