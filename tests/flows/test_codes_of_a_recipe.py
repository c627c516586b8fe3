"""Codes that a recipe or a call names are those of rules, or the mistake is said."""

from __future__ import annotations

from pathlib import Path

import pytest

import torchstone as ts
from torchstone.cli import main as door
from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.recipe import Rules
from torchstone.flows.rulebook import check_codes


def told(rules: Rules) -> str:
    """What is said of codes that are not there."""
    with pytest.raises((StoneError, StoneErrors)) as caught:
        check_codes(rules, lambda field: f"torchstone.yaml:3 {field}")
    return str(caught.value)


def test_codes_and_families_that_are_there_pass() -> None:
    rules = Rules(ignore=["RUN301", "DAT"], severity={"PLN104": "error"})
    assert check_codes(rules, str) is rules
    assert check_codes(Rules(), str) == Rules()


def test_a_code_that_is_not_there_is_named_with_its_place_and_the_nearest() -> None:
    text = told(Rules(ignore=["run301"]))
    assert "run301" in text
    assert "torchstone.yaml:3 rules.ignore" in text
    assert "did you mean RUN301?" in text


def test_a_family_has_no_severity_of_its_own() -> None:
    assert "rules.severity" in told(Rules(severity={"DAT": "error"}))


def test_all_mistakes_are_told_at_once() -> None:
    text = told(Rules(ignore=["NOPE", "ALSO"]))
    assert "NOPE" in text
    assert "ALSO" in text


@pytest.mark.parametrize("words", [["watch", "--ignore", "NOPE", "x.py"], ["doctor", "--ignore", "NOPE", "x.csv"]])
def test_a_call_that_ignores_no_rule_is_a_usage_error(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("x.py", "x.csv"):
        Path(name).write_text("loss\n1\n")
    assert door.main(words) == 2
    assert "--ignore" in capsys.readouterr().err


def test_a_recipe_that_ignores_no_rule_is_refused_by_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,label\n" + "".join(f"{n},{n % 2}\n" for n in range(40)))
    assert door.main(["plan", "t.csv", "--set", 'rules.ignore=["DAT999"]']) == 2
    assert "DAT999" in capsys.readouterr().err


def test_watching_from_python_says_it_before_it_attaches() -> None:
    with pytest.raises(StoneError, match="NOPE"):
        ts.watch(ignore=["NOPE"])
