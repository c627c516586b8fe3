"""Calls that cannot be meant: exit code 2 and the call that was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchstone.cli.main import main


@pytest.mark.parametrize(
    "words, told",
    [
        (["trian"], "did you mean: torchstone train"),
        (["train", "--epoch", "3", "x"], "--epochs"),
        (["train", "--epochs", "many", "x"], "not a valid integer"),
        (["train", "x", "y"], "unexpected extra argument"),
        (["train"], "torchstone train DATA"),
        (["plan"], "there is no torchstone.yaml here"),
        (["train", "none.yaml"], "there is no such recipe"),
        (["train", "x", "--set", "train.epochs"], "--set train.epochs: expected field=value"),
        (["train", "x", "--set", "train.epohcs=3"], "did you mean 'epochs'?"),
        (["train", "x", "--epochs", "0"], "found 0; expected a whole number, at least 1"),
        (["train", "--resume", "a", "--run", "b"], "--run b has no place in it"),
        (["train", "data", "--resume", "a"], "data has no place in it"),
        (["evaluate", "nobody"], "no run is called 'nobody'"),
        (["evaluate"], "torchstone train DATA"),
        (["evaluate", "--split", "held"], "'train', 'validation', 'test'"),
        (["report", "nobody"], "no run is called 'nobody'"),
        (["explain", "XYZ999"], "torchstone rules"),
        (["new"], "Missing argument"),
    ],
)
def test_a_call_that_cannot_be_meant_ends_with_2_and_the_way_out(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    shown = capsys.readouterr()
    assert told in shown.err
    assert "Traceback" not in shown.err
    assert list(tmp_path.iterdir()) == []


def test_a_path_without_verb_is_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "flowers").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["flowers"]) == 2
    assert "to train on it: torchstone train flowers" in capsys.readouterr().err


def test_a_recipe_that_is_there_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "torchstone.yaml").write_text("mine")
    monkeypatch.chdir(tmp_path)
    assert main(["new", "data"]) == 2
    assert "replace it with --force" in capsys.readouterr().err
    assert (tmp_path / "torchstone.yaml").read_text() == "mine"
