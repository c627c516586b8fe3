"""The door: what goes wrong becomes a message and an exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from torchstone.cli import main as door
from torchstone.core.errors import StoneError, StoneErrors


def verb_that(raises: BaseException) -> click.Command:
    @click.command(name="rules")
    @click.option("--json", is_flag=True)
    @click.option("--traceback", is_flag=True)
    def command(json: bool, traceback: bool) -> None:
        raise raises

    return command


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    def set_up(error: BaseException) -> None:
        monkeypatch.setattr(door.Verbs, "get_command", lambda self, ctx, name: verb_that(error))

    return set_up


def test_help_lists_every_verb_and_its_file_says_the_same_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert door.main(["--help"]) == 0
    shown = capsys.readouterr().out
    for verb, line in door.VERBS.items():
        assert line in shown
        command = door.torchstone.get_command(click.Context(door.torchstone), verb)
        assert command is not None
        assert (command.help or "").partition("\n")[0] == line


def test_no_verb_shows_the_help_and_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert door.main([]) == 2
    assert "Verbs:" in capsys.readouterr().err


def test_a_mistake_of_the_user_is_told_without_traceback_and_ends_with_2(failing, capsys) -> None:  # type: ignore[no-untyped-def]
    failing(StoneError("lr is -1", where="r.yaml:3 optimizer.lr", fix="make it positive"))
    assert door.main(["rules"]) == 2
    shown = capsys.readouterr()
    assert shown.err == "r.yaml:3 optimizer.lr: lr is -1\n  fix: make it positive\n"
    assert shown.out == ""


def test_with_json_a_mistake_is_one_object_on_standard_output(failing, capsys) -> None:  # type: ignore[no-untyped-def]
    failing(StoneErrors([StoneError("a", where="x"), StoneError("b")]))
    assert door.main(["rules", "--json"]) == 2
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {
        "error": {"errors": [{"what": "a", "where": "x", "fix": None}, {"what": "b", "where": None, "fix": None}]}
    }
    assert shown.err == ""


def test_a_mistake_of_ours_says_how_to_report_it_and_shows_its_traceback_only_on_request(failing, capsys) -> None:  # type: ignore[no-untyped-def]
    failing(ZeroDivisionError("division by zero"))
    assert door.main(["rules"]) == door.BUG
    shown = capsys.readouterr().err
    assert "ZeroDivisionError: division by zero" in shown
    assert "--traceback" in shown
    assert "Traceback" not in shown
    assert door.main(["rules", "--traceback"]) == door.BUG
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_ends_with_130(failing, capsys) -> None:  # type: ignore[no-untyped-def]
    failing(KeyboardInterrupt())
    assert door.main(["rules"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_another_rank_signs_what_it_says(failing, capsys, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("RANK", "1")
    failing(StoneError("no"))
    assert door.main(["rules"]) == 2
    assert capsys.readouterr().err == "[rank 1] no\n"


def test_a_reader_that_has_enough_ends_the_verb_quietly() -> None:
    script = "import sys; from torchstone.cli.main import main; sys.exit(main(['--help']))"
    reading, writing = os.pipe()
    os.close(reading)
    run = [sys.executable, "-c", script]
    done = subprocess.run(run, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (door.BROKEN_PIPE, "")


def test_python_dash_m_is_the_same_program() -> None:
    run = [sys.executable, "-m", "torchstone", "--version"]
    assert "0.1.0" in subprocess.run(run, capture_output=True, text=True, check=True).stdout


def test_rules_and_explain_answer_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert door.main(["rules", "--json"]) == 0
    for row in json.loads(capsys.readouterr().out)["rules"]:
        assert door.main(["explain", row["code"], "--json"]) == 0
        page = json.loads(capsys.readouterr().out)
        assert page["code"] == row["code"]
        assert page["why"]


def test_rules_can_be_narrowed_to_a_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert door.main(["rules", "dat", "--json"]) == 0
    assert all(row["code"].startswith("DAT") for row in json.loads(capsys.readouterr().out)["rules"])


def test_options_become_words_of_set(tmp_path: Path) -> None:
    from torchstone.cli.options import overrides, recipe_from

    given = {"label": "a,no", "features": "1,b", "epochs": 3, "deterministic": True, "sets": ("train.epochs=4",)}
    assert overrides(given) == [
        'data.label=["a", "no"]', 'data.features=["1", "b"]', "train.epochs=3", "train.deterministic=true",
        "train.epochs=4",
    ]  # fmt: skip
    recipe, project = recipe_from(str(tmp_path / "data.csv"), given)
    assert (recipe.data.label, recipe.data.features, recipe.train.epochs) == (["a", "no"], ["1", "b"], 4)
    assert project == Path.cwd()


def test_the_project_is_the_folder_of_the_recipe_unless_it_is_named(tmp_path: Path) -> None:
    from torchstone.cli.options import recipe_from

    (tmp_path / "r.yml").write_text("data: {path: x}\n")
    assert recipe_from(str(tmp_path / "r.yml"), {})[1] == tmp_path
    assert recipe_from(str(tmp_path / "r.yml"), {"project": Path("/p")})[1] == Path("/p")
