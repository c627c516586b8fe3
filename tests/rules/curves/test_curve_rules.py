"""Rules over logged curves: sick courses, their near-misses, and real healthy runs, on which all are quiet."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from torchstone.core.catalog import all_rules
from torchstone.core.curves import Curve
from torchstone.flows.name_curves import Wanted, history_of
from torchstone.rules._curves import best_before_rise, noise, toy_curve, toy_history

RULES = all_rules("torchstone.rules.curves")
# Real trainings on scikit-learn's digits, on ETTh1 and on Tiny Shakespeare, made once: cross-entropy with and without
# label smoothing, mixup, dropout, BatchNorm, cyclic and one-cycle rates, batches of 4 to 400, regression, a GRU.
HEALTHY = json.loads((Path(__file__).parent / "healthy_curves.json").read_text(encoding="utf-8"))


def codes(history) -> list[str]:
    return [finding.code for rule in RULES for finding in rule.check(history)]


def told(history, code):
    return next(finding for rule in RULES for finding in rule.check(history) if finding.code == code)


def real(columns):
    axis = columns.get("step") or columns["epoch"]
    series = {}
    for name, cells in columns.items():
        if name not in ("step", "epoch"):
            kept = [(float(step), value) for step, value in zip(axis, cells, strict=True) if value is not None]
            series[name] = Curve(name, tuple(step for step, _ in kept), tuple(value for _, value in kept))
    return history_of("real", series, Wanted())


@pytest.mark.parametrize("name", HEALTHY)
def test_a_real_healthy_run_draws_no_warning_and_at_most_one_advice(name):
    findings = [finding for rule in RULES for finding in rule.check(real(HEALTHY[name]))]
    assert [finding.code for finding in findings if finding.severity != "advice"] == []
    assert len(findings) <= 1, findings


@pytest.mark.parametrize("name", [name for name, columns in HEALTHY.items() if len(next(iter(columns.values()))) > 10])
def test_a_real_run_that_blows_up_in_its_second_half_is_seen(name):
    train = real(HEALTHY[name]).train
    half = len(train) // 2
    grown = [value * 1e4 ** max(0, (place - half) / half) for place, value in enumerate(train.values)]
    history = toy_history(1, train=toy_curve("loss", grown), validation=None, score=None, train_score=None)
    assert "RUN803" in codes(history)


def test_nan_to_the_end_is_an_error_and_one_nan_is_a_warning():
    to_the_end = told(toy_history(train=lambda e: math.nan if e > 20 else 1.0), "RUN801")
    once = told(toy_history(train=lambda e: math.nan if e == 20 else 1.0 / (e + 1)), "RUN801")
    assert (to_the_end.severity, once.severity) == ("error", "warning")
    assert to_the_end.where.step == 22
    assert "grown" in told(toy_history(train=lambda e: 2.0**e if e < 20 else math.inf), "RUN801").what


def test_a_log_of_nothing_but_nan_is_no_crash():
    nan = toy_curve("nan", [math.nan] * 40)
    assert codes(toy_history(train=nan, validation=nan, score=nan)) == ["RUN801", "RUN801"]


@pytest.mark.parametrize("num", [1, 2, 3, 5])
def test_few_points_are_never_judged(num):
    assert codes(toy_history(num)) == []
    assert codes(toy_history(num, train=lambda e: 5.0**e, validation=lambda e: 5.0**e)) == []


def test_noise_of_a_slope_is_that_around_it():
    generator = random.Random(0)
    line = [5 - 0.1 * place + generator.gauss(0, 0.3) for place in range(2000)]
    assert noise(line) == pytest.approx(0.3, rel=0.1)
    assert noise([3.0 * place for place in range(50)]) == pytest.approx(0, abs=1e-9)


def test_chance_after_the_best_is_no_rise():
    """A flat validation loss whose best point is the luckiest one of 40: 2 of 200 seeds rise, each by luck alone."""
    alarms = 0
    for seed in range(200):
        generator = random.Random(seed)
        losses = [1 + generator.gauss(0, 0.05) for _ in range(40)]
        alarms += best_before_rise(losses, since=3, share=0.05, errors=3.0) is not None
    assert alarms <= 4


def test_overfitting_names_the_best_epoch_and_the_onset():
    history = toy_history(validation=lambda e: 0.5 + 0.01 * (e - 10) ** 2 if e > 10 else 2.0 - 0.15 * e)
    finding = told(history, "RUN806")
    assert finding.where.step == finding.evidence["best_step"] == 11
    assert 12 <= finding.evidence["onset_step"] <= 15
    diverged = toy_history(train=lambda e: 0.2 + 0.1 * e, validation=lambda e: 0.5 + 0.1 * abs(e - 10))
    assert "RUN806" not in codes(diverged)


def test_a_loss_that_rises_under_a_better_score_is_overconfidence():
    sure = toy_history(validation=lambda e: 0.4 + 0.02 * abs(e - 10), score=lambda e: 0.6 + 0.008 * e)
    assert "RUN810" in codes(sure)
    worse = toy_history(validation=lambda e: 0.4 + 0.02 * abs(e - 10), score=lambda e: 0.9 - 0.004 * abs(e - 10))
    assert "RUN810" not in codes(worse)
    assert "RUN806" in codes(worse)


def test_a_spike_that_comes_back_and_a_new_fold_are_healthy():
    fold = toy_history(160, train=lambda e: 2.3 * 0.93 ** (e % 80) + 0.02, validation=None, score=None)
    assert not {"RUN803", "RUN804"} & set(codes(fold))
    back = toy_history(160, train=lambda e: 8.0 if 100 <= e < 110 else 0.4 + 0.01 * (-1) ** e)
    assert "RUN804" not in codes(back)


def test_a_range_test_of_the_rate_may_end_in_divergence():
    def course(epoch):
        return 2.3 - 0.05 * epoch if epoch < 30 else 0.8 * 1.4 ** (epoch - 30)

    rate = toy_curve("lr", [1e-6 * 1.4**epoch for epoch in range(40)])
    assert "RUN803" in codes(toy_history(train=course))
    assert "RUN803" not in codes(toy_history(train=course, rate=rate))


def test_losses_of_games_are_only_asked_for_nan():
    def wild(epoch):
        return 3.0**epoch

    assert codes(toy_history(train=wild, is_game=True)) == []
    assert codes(toy_history(train=lambda e: math.nan, is_game=True)) == ["RUN801"]


def test_a_loss_that_does_not_fall_is_fine_where_validation_gets_better():
    def flat(epoch):
        return 1.0 + 0.01 * (-1) ** epoch

    assert "RUN802" in codes(toy_history(train=flat, validation=flat, score=lambda e: 0.1))
    assert "RUN802" not in codes(toy_history(train=flat, validation=None, score=lambda e: 0.1 + 0.01 * e))


def test_perfect_at_once_is_a_warning_only_where_loss_and_score_on_training_examples_say_so():
    def lag(epoch):
        return 0.5 + 0.5 * 0.9**epoch

    both = toy_history(score=lambda e: 1.0, validation=lambda e: 0.001, train_score=lambda e: 0.8, train=lag)
    one = toy_history(score=lambda e: 1.0, validation=lambda e: 0.001, train_score=None, train=lag)
    easy = toy_history(score=lambda e: 1.0, validation=lambda e: 0.1**e, train_score=None, train=lambda e: 0.1**e)
    assert told(both, "RUN812").severity == "warning"
    assert told(one, "RUN812").severity == "advice"
    assert "RUN812" not in codes(easy)


def test_mixing_alone_is_no_sign_of_a_leak():
    """Validation far better than training, as mixup and dropout make it, without an implausible score."""
    assert codes(toy_history(train=lambda e: 0.6 + 1.7 * 0.8**e, validation=lambda e: 0.15 + 1.5 * 0.8**e,
                             train_score=None, score=lambda e: 0.95 - 0.8 * 0.8**e)) == []  # fmt: skip


def test_a_run_whose_rate_has_decayed_was_not_stopped_early():
    def course(epoch):
        return 2.0 * 0.9**epoch

    fallen = toy_curve("lr", [1e-3 * (1 - epoch / 20) for epoch in range(20)])
    still = {"train": course, "validation": course, "train_score": None, "score": None}
    assert codes(toy_history(20, **still)) == ["RUN807"]
    assert codes(toy_history(20, **still, rate=fallen)) == []
