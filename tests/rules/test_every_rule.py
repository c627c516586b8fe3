"""Every rule fires on its own sick example, is silent on the healthy twin, and has a page."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from torchstone.core.catalog import all_rules, names
from torchstone.testing.check_rule import check_rule

RULES = [(folder, rule) for folder in names("torchstone.rules") for rule in all_rules(f"torchstone.rules.{folder}")]
FAMILIES = {
    "dataset": "DAT", "reading": "DAT", "recipe": "PLN", "evaluation": "EVA", "trace": "RUN", "protocol": "RUN",
    "meaning": "RUN", "feeding": "RUN", "health": "RUN", "preflight": "RUN", "curves": "RUN",
    "source": "COD", "review": "REV",
}  # fmt: skip


@pytest.mark.parametrize(("folder", "rule"), RULES, ids=[rule.code for _, rule in RULES])
def test_a_rule_keeps_its_promise(folder, rule):
    check_rule(rule)
    assert rule.code.startswith(FAMILIES[folder])


@pytest.mark.parametrize("rule", [rule for _, rule in RULES], ids=lambda rule: rule.code)
def test_the_evidence_of_a_finding_can_be_written(rule):
    for finding in rule.check(rule.trips()):
        json.dumps(finding.evidence)


def test_no_two_rules_share_a_code_or_a_name():
    assert [code for code, count in Counter(rule.code for _, rule in RULES).items() if count > 1] == []
    assert [name for name, count in Counter(rule.name for _, rule in RULES).items() if count > 1] == []
