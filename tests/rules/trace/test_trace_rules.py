"""What the trace rules say of made-up faults, and of a real run on digits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from torchstone.core.recipe import Rules
from torchstone.flows.judge import judge
from torchstone.parts.schedules.cosine import cosine
from torchstone.rules.trace._steps import toy_run


def codes(trace) -> list[str]:
    return [finding.code for finding in judge(trace, "torchstone.rules.trace", Rules())]


def digits_run(*, lr: float = 0.5, epochs: int = 10, schedule=None, start: float = 0.05) -> list[dict]:
    """Softmax regression on scikit-learn's digits, by hand, with the ledger of a run."""
    from sklearn.datasets import load_digits

    images, target = load_digits(return_X_y=True)
    images, schedule = images / 16, schedule or cosine()
    generator = np.random.default_rng(0)
    weights = generator.normal(size=(64, 10)) * start
    total, rows = epochs * (len(target) // 32), []
    for step in range(total):
        if step % (len(target) // 32) == 0:
            order = generator.permutation(len(target))
        batch = order[(step * 32) % (len(target) // 32 * 32) :][:32]
        logits = images[batch] @ weights
        chance = np.exp(logits - logits.max(1, keepdims=True))
        chance /= chance.sum(1, keepdims=True)
        loss = -np.log(np.maximum(chance[np.arange(32), target[batch]], 1e-300)).mean()
        gradient = images[batch].T @ (chance - np.eye(10)[target[batch]]) / 32
        rate = lr * schedule(step, total)
        ratio = np.linalg.norm(rate * gradient) / np.linalg.norm(weights)
        weights = weights - rate * gradient
        rows.append({"event": "step", "step": step + 1, "epoch": step // 56, "examples": 32, "weight": 32.0,
                     "loss": float(loss), "lr": rate, "scale": 1.0, "skipped": None,
                     "grad_norm": float(np.linalg.norm(gradient)), "clipped_norm": float(np.linalg.norm(gradient)),
                     "update_ratio": float(ratio) if step % 10 == 0 else None, "wait_ms": 0.4, "step_ms": 0.6})
    return rows


@pytest.mark.parametrize("lr", [0.02, 0.1, 0.5, 2.0])
def test_a_real_healthy_run_has_no_finding(lr):
    assert codes(digits_run(lr=lr)) == []


def test_a_rate_of_almost_nothing_learns_nothing_and_moves_nothing():
    assert codes(digits_run(lr=1e-7)) == ["RUN204", "RUN206"]


def test_updates_out_of_proportion_say_which_way_to_go():
    large = judge(toy_run(change=lambda step, row: {"update_ratio": 0.9}), "torchstone.rules.trace", Rules())
    small = judge(toy_run(change=lambda step, row: {"update_ratio": 1e-9}), "torchstone.rules.trace", Rules())
    assert [finding.fix.split()[0] for finding in (*large, *small)] == ["Lower", "Raise"]


def test_three_large_updates_after_the_start_are_healthy():
    assert codes(toy_run(change=lambda step, row: {"update_ratio": 0.9} if step < 3 else {})) == []


def test_small_updates_at_the_end_of_a_schedule_are_healthy():
    end = toy_run(change=lambda step, row: {"update_ratio": 1e-9, "lr": 1e-7} if step > 100 else {})
    assert codes(end) == []


def test_a_cosine_run_past_its_end_climbs_again():
    real = digits_run(schedule=lambda step, total: (1 + math.cos(math.pi * step / (total * 0.6))) / 2)
    assert "RUN205" in codes(real)


@pytest.mark.parametrize("schedule", [
    lambda step, total: 1.0,
    lambda step, total: (1 + math.cos(math.pi * (step % 100) / 100)) / 2,  # warm restarts
    lambda step, total: 0.1 ** (step // 200),
    cosine(warmup=0.5),
])
def test_usual_schedules_do_not_count_as_climbing_again(schedule):
    assert codes(digits_run(schedule=schedule)) == []


def test_a_loop_that_names_the_culprit_is_quoted():
    told = {"event": "finding", "step": 12, "problem": "loss", "value": None, "loss": None, "epoch": 0, "window": 12,
            "is_culprit_known": True, "rows": [7], "examples": ["train.csv:9"], "num": 1}
    finding = judge([*toy_run(12), told], "torchstone.rules.trace", Rules())[0]
    assert (finding.code, finding.severity, finding.where.example) == ("RUN201", "error", "train.csv:9")
    assert "it comes from train.csv:9" in finding.what


def test_a_run_that_blew_up_is_not_blamed_on_its_examples():
    told = {"event": "finding", "step": 12, "problem": "loss", "is_culprit_known": True, "examples": ["train.csv:9"],
            "num": 1}
    sick = [*toy_run(12, lambda step, row: {"loss": 2.3 * 10.0**step}), told]
    finding = next(f for f in judge(sick, "torchstone.rules.trace", Rules()) if f.code == "RUN201")
    assert "had grown from 2.3 to 2.3e+11" in finding.what
    assert finding.where.example is None
    assert finding.fix.startswith("Lower optimizer.lr")


@pytest.mark.parametrize("field", ["loss", "grad_norm"])
@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_a_non_finite_value_is_found_at_its_step_and_alone(field, value):
    sick = toy_run(change=lambda step, row: {field: value} if step == 80 else {})
    found = judge(sick, "torchstone.rules.trace", Rules())
    assert [(finding.code, finding.where.step) for finding in found] == [("RUN201", 81)]


def test_a_step_without_targets_is_no_fault():
    nothing = {"loss": None, "skipped": "no target counts"}
    assert codes(toy_run(change=lambda step, row: nothing if step == 9 else {})) == []


def test_a_scaler_that_comes_down_a_few_steps_is_healthy():
    def few(step, row):
        return {"scale": 65536.0 / 2**min(step, 6), **({"skipped": "non-finite gradient", "grad_norm": None}
                                                      if step < 6 else {})}
    assert codes(toy_run(change=few)) == []


def test_a_short_wait_is_not_worth_a_word():
    assert codes(toy_run(change=lambda step, row: {"wait_ms": 10.0, "step_ms": 1.0})) == []  # 2 s in all
    assert codes(toy_run(change=lambda step, row: {"wait_ms": 100.0, "step_ms": 300.0})) == []  # 25 %
    assert codes(toy_run(change=lambda step, row: {"wait_ms": 100.0, "step_ms": 100.0})) == ["RUN203"]


def test_a_loss_that_fell_and_rose_again_did_learn():
    assert "RUN204" not in codes(toy_run(change=lambda step, row: {"loss": 1 + math.cos(2 * math.pi * step / 200)}))


def test_an_empty_or_short_trace_is_silent():
    assert codes([]) == []
    assert codes(toy_run(5)) == []
