"""Early stopping by any metric: against Keras' rule written out, in a run, over a resume, and by recipe."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_pieces_in_the_loop import assembled, setting_of
from test_resume_exact import assert_same, run_with_kills

from conftest import toy_job
from torchstone.core.errors import StoneError, StoneErrors
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.stopping import StopOn


def stops_at(rule: StopOn, values: list[float | None]) -> int | None:
    """After how many validations the run ends."""
    state: dict[str, Any] = {}
    for count, value in enumerate(values, 1):
        state = rule.update(state, {rule.metric: value})
        if rule.is_over(state):
            return count
    return None


def keras(values: list[float], patience: int, min_delta: float, is_max: bool) -> int | None:
    """keras.callbacks.EarlyStopping: `wait` counts epochs whose value, less min_delta, does not pass the best."""
    better, delta = (np.greater, -min_delta) if is_max else (np.less, min_delta)
    best, wait = None, 0
    for count, value in enumerate(values, 1):
        wait += 1
        if best is None or better(value + delta, best):
            best, wait = value, 0
        if wait >= patience and count > 1:
            return count
    return None


def test_it_ends_where_keras_ends() -> None:
    rng = np.random.default_rng(0)
    for patience, min_delta, is_max in itertools.product((1, 2, 5), (0.0, 0.25), (True, False)):
        for _ in range(20):
            values = rng.normal(size=30).round(2).tolist()
            rule = StopOn("loss", "max" if is_max else "min", patience, min_delta)
            assert stops_at(rule, values) == keras(values, patience, min_delta, is_max)


def test_a_metric_that_is_not_a_number_is_neither_good_nor_bad() -> None:
    rule = StopOn("loss", "min", 2)
    assert stops_at(rule, [1.0, math.nan, None, math.nan, math.nan]) is None
    assert stops_at(rule, [math.nan, 1.0, 1.0, math.nan, 1.0]) == 5
    assert stops_at(rule, [math.nan] * 9) is None
    assert stops_at(rule, [math.inf, math.inf, 1.0, math.inf, 2.0]) == 5


def test_a_metric_that_the_validation_lacks_is_an_error() -> None:
    with pytest.raises(StoneError, match="no metric is called 'f2'; there are accuracy, loss"):
        fit(toy_job(stop_on=StopOn("f2", "max", 1)), Progress())


def test_a_run_ends_by_another_metric_than_the_selecting_one() -> None:
    """With a loss that must get better by a whole unit each time, while accuracy chooses the best."""
    progress = fit(toy_job(epochs=20, stop_on=StopOn("loss", "min", 3, min_delta=1.0)), Progress())
    assert (progress.status, progress.reason, progress.epoch) == ("finished", "no better loss", 4)
    assert progress.best is not None


def test_whichever_patience_is_over_first_ends_the_run() -> None:
    both = {"epochs": 60, "patience": 2, "stop_on": StopOn("loss", "min", 50)}
    assert fit(toy_job(**both), Progress()).reason == "no better accuracy"
    assert fit(toy_job(epochs=3, stop_on=StopOn("loss", "min", 50)), Progress()).reason is None


@pytest.mark.parametrize("kills", [(3,), (8, 8), (17, 5)])
def test_a_killed_run_ends_at_the_same_epoch_for_the_same_reason(tmp_path: Path, kills: tuple[int, ...]) -> None:
    changes = {"epochs": 60, "every_windows": 3, "stop_on": StopOn("loss", "min", 3, min_delta=0.02)}
    whole, steps = run_with_kills(tmp_path / "whole", [], **changes)
    cut, cut_steps = run_with_kills(tmp_path / "cut", kills, **changes)
    assert steps == cut_steps
    assert steps[0] < 60 * 8
    assert_same(whole, cut)
    again, again_steps = run_with_kills(tmp_path / "cut", [], **changes)
    assert again_steps == steps
    assert again["progress"]["reason"] == "no better loss"


def test_a_recipe_asks_for_it(tmp_path: Path) -> None:
    assert assembled(tmp_path).stop_on is None
    job = assembled(tmp_path, "train.stop_on={metric: log_loss, patience: 3, min_delta: 0.01}")
    assert job.stop_on == StopOn("log_loss", "min", 3, 0.01)
    assert job.patience == 0
    job = assembled(tmp_path, "train.stop_on={metric: accuracy, patience: 1, direction: min}")
    assert job.stop_on == StopOn("accuracy", "min", 1)


@pytest.mark.parametrize(("setting", "said"), [
    ("{metric: rmse, patience: 3}", "found 'rmse'; tabular-classification has accuracy"),
    ("{metric: loss}", "patience is missing"), ("{metric: loss, patience: 0}", "at least 1"),
    ("{metric: loss, patience: 2, mode: min}", "unknown field 'mode'"),
])
def test_a_mistake_is_told_before_the_run(tmp_path: Path, setting: str, said: str) -> None:
    with pytest.raises(StoneErrors, match=said):
        setting_of(tmp_path, f"train.stop_on={setting}")


def test_without_validation_examples_it_would_have_no_effect(tmp_path: Path) -> None:
    with pytest.raises(StoneError, match="no validation examples"):
        assembled(tmp_path, "data.split={train: 1.0, validation: 0.0, test: 0.0}",
                  "train.stop_on={metric: loss, patience: 3}")  # fmt: skip
