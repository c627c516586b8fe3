"""Rules of curves at the end of our own runs and of watched loops: asked there, and one finding for each cause."""

from __future__ import annotations

import pytest

from torchstone.core.catalog import all_rules
from torchstone.core.recipe import Rules
from torchstone.flows.ask_curves import ASKED, CURVES, asked_curves, history_of_rows, is_over, judge_curves
from torchstone.flows.own_doctor import judge_trace
from torchstone.flows.watch import FOLDERS
from torchstone.rules._watched import toy_loop, toy_loss, toy_pass
from torchstone.rules.trace._steps import toy_run

# A rule of curves → the rules of traces and rows that see the same cause.
GIVES_WAY = {
    "RUN801": ("RUN201", "RUN601"), "RUN802": ("RUN204", "RUN603", "RUN605", "RUN609", "RUN614"),
    "RUN803": ("RUN201", "RUN601", "RUN602", "RUN609"), "RUN804": ("RUN201", "RUN601", "RUN609"),
    "RUN805": ("RUN201", "RUN601", "RUN602", "RUN609"), "RUN806": ("RUN606", "RUN618"),
    "RUN808": ("RUN204", "RUN603", "RUN605", "RUN609", "RUN614"), "RUN809": ("RUN204", "RUN603", "RUN605", "RUN614"),
    "RUN811": ("RUN505",), "RUN812": ("RUN505",),
    "RUN813": ("RUN201", "RUN601", "RUN602", "RUN609", "RUN614"),
}  # fmt: skip
RISING = [1.0, 0.6, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


def trace(validations, change=None):
    seen = [{"event": "validation", "step": 20 * n, "metrics": metrics} for n, metrics in enumerate(validations, 1)]
    return sorted([*toy_run(change=change), *seen], key=lambda row: row["step"])


def passes(losses, accuracies=None):
    scores = accuracies or [None] * len(losses)
    return [toy_pass(own_loss=loss, own_accuracy=score, number=n, first_step=5 * n, last_step=5 * n, own_num=96)
            for n, (loss, score) in enumerate(zip(losses, scores, strict=True), 1)]  # fmt: skip


def watched(rows):
    return [finding.code for finding in judge_curves(history_of_rows(rows), asked_curves(Rules()))]


def test_every_code_is_a_rule_that_is_there():
    curves = {rule.code for rule in all_rules(CURVES)}
    others = {rule.code for folder in (*FOLDERS, "torchstone.rules.trace") for rule in all_rules(folder)}
    assert set(ASKED) <= curves
    assert set(GIVES_WAY) <= curves
    assert {code for codes in GIVES_WAY.values() for code in codes} <= others


def test_rules_of_traces_and_rows_know_more_and_explain_what_the_curves_say_of_the_same_cause():
    rules = {rule.code: rule for folder in (*FOLDERS, "torchstone.rules.trace") for rule in all_rules(folder)}
    for code, others in GIVES_WAY.items():
        assert [other for other in others if code not in rules[other].explains] == []
        assert {other for other, rule in rules.items() if code in rule.explains} == set(others)


def test_a_run_of_ours_that_overfits_says_so_once_at_its_end():
    rows = trace([{"loss": loss} for loss in RISING])
    assert [finding.code for finding in judge_trace(rows, Rules())] == ["RUN806"]
    told = {"event": "finding", "step": 160, "code": "RUN606", "severity": "advice", "what": "seen", "why": "harm",
            "fix": "mend", "where": {"step": 60}, "evidence": {}}  # fmt: skip
    assert [finding.code for finding in judge_trace([*rows, told], Rules())] == ["RUN606"]


def test_a_score_that_gains_while_the_loss_rises_is_told_instead():
    rows = trace([{"loss": loss, "accuracy": 0.5 + 0.05 * n} for n, loss in enumerate(RISING)])
    assert [finding.code for finding in judge_trace(rows, Rules())] == ["RUN810"]


@pytest.mark.parametrize("ignored", ["RUN806", "RUN"])
def test_what_the_recipe_ignores_is_not_asked_and_severities_are_obeyed(ignored):
    rows = trace([{"loss": loss} for loss in RISING])
    assert judge_trace(rows, Rules(ignore=[ignored])) == []
    assert [finding.severity for finding in judge_trace(rows, Rules(severity={"RUN806": "error"}))] == ["error"]


def test_a_healthy_run_of_ours_has_no_finding():
    rows = trace([{"loss": 0.3 + 0.7 * 0.6**n, "accuracy": 0.9 - 0.5 * 0.6**n} for n in range(10)])
    assert judge_trace(rows, Rules()) == []


def test_a_run_that_does_not_learn_has_one_finding():
    rows = trace([{"loss": 2.3}] * 10, change=lambda step, row: {"loss": 2.3 + 0.01 * (-1) ** step})
    assert [finding.code for finding in judge_trace(rows, Rules())] == ["RUN204"]


def test_a_watched_loop_is_judged_by_all_rules_when_it_is_over():
    rows = toy_loop(more=[toy_loss(), *passes(RISING)])
    assert watched(rows) == ["RUN806"]
    assert is_over(rows)
    assert not is_over(rows[:-1])


def test_losses_that_do_not_reach_to_now_are_no_curve():
    rows = toy_loop(40, more=[toy_loss()])
    assert history_of_rows(rows) is not None
    assert history_of_rows([*rows[:-1], toy_pass(loader=0, backwards=14, last_step=90)]) is None


def test_a_loss_that_may_chase_a_moving_target_is_not_judged():
    without = toy_loop(more=passes(RISING))
    assert history_of_rows(without) is None
    assert history_of_rows([*without[:-1], toy_pass(loader=0, backwards=14), without[-1]]) is not None


def test_loss_and_accuracy_that_the_doctor_counted_itself_are_compared():
    scores = [0.5 + 0.05 * n for n in range(len(RISING))]
    assert "RUN810" in watched(toy_loop(more=[toy_loss(), *passes(RISING, scores)]))
