"""The recipe has the last word on rules."""

from __future__ import annotations

from torchstone.core.recipe import Rules
from torchstone.flows.judge import is_ignored, judge
from torchstone.rules.dataset._toy import toy

SICK = toy(["a", " ", "a"], ["cat", "dog", "cat"], ["train", "train", "test"])


def codes(rules: Rules) -> list[str]:
    return [finding.code for finding in judge(SICK, "torchstone.rules.dataset", rules)]


def test_errors_come_first_then_codes():
    found = judge(SICK, "torchstone.rules.dataset", Rules())
    assert found[0].severity == "error"
    warnings = [finding.code for finding in found if finding.severity == "warning"]
    assert warnings == sorted(warnings)


def test_an_ignored_code_is_not_asked_and_others_stay():
    assert "DAT210" in codes(Rules())
    assert set(codes(Rules())) - set(codes(Rules(ignore=["DAT210"]))) == {"DAT210"}


def test_a_whole_family_can_be_ignored():
    assert codes(Rules(ignore=["DAT"])) == []


def test_a_code_that_only_begins_alike_is_not_ignored():
    assert not is_ignored("DAT210", ["DAT2", "DA", "DAT21"])


def test_a_severity_can_be_changed():
    found = judge(SICK, "torchstone.rules.dataset", Rules(severity={"DAT210": "error"}))
    assert {finding.severity for finding in found if finding.code == "DAT210"} == {"error"}
