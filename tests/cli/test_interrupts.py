"""Ctrl-C right at the start: the program is not loaded yet, and there is still one answer, and 130."""

from __future__ import annotations

import json
import subprocess
import sys

import click
import pytest

from torchstone.cli.interrupt import wants_json
from torchstone.cli.main import VERBS, torchstone

# Sends SIGINT to itself when the module of the first argument is looked for.
SCRIPT = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            os.kill(os.getpid(), signal.SIGINT)
wanted = sys.argv.pop(1)
sys.meta_path.insert(0, Finder())
from torchstone.__main__ import main
sys.exit(main())
"""


def verbs_with_json() -> list[str]:
    """The verbs that promise an answer for programs."""
    context = click.Context(torchstone)
    commands = {verb: torchstone.get_command(context, verb) for verb in VERBS}
    return [verb for verb, one in commands.items() if one and any("--json" in p.opts for p in one.params)]


def call(module: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The program, interrupted when it imports `module`."""
    return subprocess.run([sys.executable, "-c", SCRIPT, module, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("verb", verbs_with_json())
def test_each_verb_that_promises_json_answers_one_object(verb: str) -> None:
    done = call(f"torchstone.cli.{verb}", verb, "--json")
    assert done.returncode == 130, done.stderr
    assert json.loads(done.stdout)["error"]["what"] == "interrupted before there was an answer"


def test_before_the_parser_is_loaded_and_in_the_midst_of_the_engine_too(tmp_path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,label\n" + "\n".join(f"{n},c{n % 2}" for n in range(60)) + "\n")
    for module in ("click", "pydantic", "numpy"):
        done = call(module, "plan", str(table), "--json")
        assert done.returncode == 130, (module, done.stderr)
        assert list(json.loads(done.stdout)) == ["error"]


def test_a_person_reads_it_and_gets_no_object() -> None:
    done = call("torchstone.cli.rules", "rules")
    assert (done.returncode, done.stdout) == (130, "")
    assert "interrupted" in done.stderr


def test_an_interrupt_inside_of_a_text_that_is_executed_leaves_no_mark() -> None:
    script = (
        "import sys\nfrom torchstone.cli.interrupt import interrupted\n"
        "try:\n    exec('raise KeyboardInterrupt')\n"
        "except KeyboardInterrupt:\n    sys.exit(interrupted(['plan', '--json']))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert json.loads(done.stdout)["error"]


def test_one_rank_answers_for_all(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from torchstone.cli.interrupt import interrupted

    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert interrupted(["train", "t.csv", "--json"]) == 130
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("words", "is_wanted"),
    [
        ("plan t.csv --json", True), ("plan t.csv", False), ("watch --json train.py", True),
        ("watch train.py --json", False), ("watch --rows r.jsonl --json a/train.py --json", True),
        ("watch --json -m pkg.train", True), ("watch -m pkg.train --json", False), ("", False),
    ],
)  # fmt: skip
def test_options_behind_a_watched_script_are_its_own(words: str, is_wanted: bool) -> None:
    assert wants_json(words.split()) is is_wanted
