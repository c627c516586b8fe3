"""RUN615: an evaluation loss that is no number is told once per loader, and not where training failed before."""

from __future__ import annotations

import math

import pytest

from torchstone.rules._watched import toy_loop, toy_non_finite, toy_pass
from torchstone.rules.health.evaluation_not_finite import RULE


def passes(*losses, **more):
    return [toy_pass(own_loss=loss, number=n, first_step=5 * n, last_step=5 * n, own_num=96, **more)
            for n, loss in enumerate(losses, 1)]  # fmt: skip


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_it_is_told_once_with_its_first_step_and_how_often(bad):
    (finding,) = RULE.check(toy_loop(more=passes(0.5, bad, bad, 0.4)))
    assert (finding.where.step, finding.evidence["times"]) == (10, 2)


def test_the_range_of_targets_is_named_where_it_is_known():
    rows = toy_loop(more=passes(math.inf, target="price", target_low=-4.0, target_high=1e30))
    (finding,) = RULE.check(rows)
    assert "'price' reach from -4 to 1e+30" in finding.what
    assert finding.where.field == "price"


def test_finite_losses_and_missing_ones_draw_none():
    assert list(RULE.check(toy_loop(more=passes(0.5, None, 0.4)))) == []


def test_where_training_was_not_finite_before_it_is_that():
    assert list(RULE.check(toy_loop(more=[toy_non_finite(step=3), *passes(math.nan)]))) == []
    spoilt = toy_loop(change=lambda number, row: {"loss": math.nan}, more=passes(math.nan))
    assert list(RULE.check(spoilt)) == []


def test_a_loader_that_is_trained_with_is_not_judged():
    assert list(RULE.check(toy_loop(more=passes(math.inf, backwards=3)))) == []
