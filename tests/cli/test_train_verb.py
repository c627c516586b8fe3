"""How `train` ends: its exit code and its last words."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from torchstone.cli.train import chosen_first, command, interrupted, tell
from torchstone.core.run import Run
from torchstone.flows.train import TrainResult


def test_ctrl_c_is_130_and_sigterm_143_as_in_a_shell() -> None:
    assert interrupted(TrainResult(None, "stopped", {"reason": "interrupted by SIGINT"})) == 130
    assert interrupted(TrainResult(None, "stopped", {"reason": "interrupted by SIGTERM"})) == 143
    assert interrupted(TrainResult(None, "stopped", {"reason": "an observer's wish"})) is None
    assert interrupted(TrainResult(None, "finished", {"reason": None})) is None


def test_a_run_that_was_stopped_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    tell(TrainResult(Run(Path("/p/r1")), "stopped", {"best": None}), is_json=False)
    assert "torchstone train --resume r1" in capsys.readouterr().out


def test_a_run_that_finished_says_its_best_and_what_comes_next(capsys: pytest.CaptureFixture[str]) -> None:
    best = {"step": 1200, "metrics": {"accuracy": 0.98765, "r2": None}}
    tell(TrainResult(Run(Path("/p/r1")), "finished", {"best": best}), is_json=False)
    shown = capsys.readouterr().out
    assert "best        step 1,200: accuracy 0.9877 on validation; test untouched" in shown
    assert "torchstone evaluate r1" in shown


def test_json_is_one_object_in_which_nan_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    tell(TrainResult(Run(Path("/p/r1")), "finished", {"best": {"metrics": {"r2": float("nan")}}}), is_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (told["run"], told["status"], told["findings"]) == ("r1", "finished", [])
    assert told["best"]["metrics"]["r2"] is None


def test_a_plan_that_is_blocked_trains_nothing_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    tell(TrainResult(None, "blocked", {"status": "blocked"}), is_json=False)
    assert "nothing was trained" in capsys.readouterr().out


@pytest.mark.parametrize("option", [option for option in command.params if isinstance(option, click.Option)])
def test_torchrun_hands_on_every_option_in_at_least_one_spelling(
    option: click.Option, capsys: pytest.CaptureFixture[str]
) -> None:
    """It takes short forms of its own options from the words of the script: --run is --run-path to it."""
    from torch.distributed.run import get_args_parser

    def is_handed_on(spelling: str) -> bool:
        try:
            words = ["-m", "torchstone", "train", "data", spelling, "x"]
            return get_args_parser().parse_args(words).training_script_args == words[2:]
        except SystemExit:
            return False

    assert any(is_handed_on(spelling) for spelling in option.opts if spelling.startswith("--"))


def test_the_metric_that_chose_the_best_stands_in_front():
    scores = {"mae": 40.0, "rmse": 50.0, "loss": 0.5}
    assert list(chosen_first(scores, "rmse")) == ["rmse", "mae", "loss"]
    assert list(chosen_first(scores, None)) == list(scores)
