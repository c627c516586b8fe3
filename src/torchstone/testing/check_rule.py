"""What every rule must keep."""

from __future__ import annotations

import json
import re

from torchstone.core.finding import SEVERITIES
from torchstone.core.rule import Rule


def check_rule(rule: Rule) -> None:
    """Raises AssertionError where a rule breaks the contract.

    Checked: its code (three capitals, three digits) and name; that its page is filled in; that it fires on the
    subject of `trips` under its own code, with evidence that JSON can hold; that it is silent on that of `passes`.
    """
    assert re.fullmatch(r"[A-Z]{3}\d{3}", rule.code), f"{rule.code}: a code is three capitals and three digits"
    assert re.fullmatch(r"[a-z][a-z0-9_]*", rule.name), f"{rule.code}: '{rule.name}' is no name in small letters"
    assert rule.severity in SEVERITIES, f"{rule.code}: severity {rule.severity}"
    for field in ("summary", "why", "fix", "source", "wrong_when", "threshold"):
        assert getattr(rule, field).strip(), f"{rule.code}: {field} is empty"
    findings = list(rule.check(rule.trips()))
    assert findings, f"{rule.code} is silent on its own sick example"
    for finding in findings:
        assert finding.code == rule.code, f"{rule.code} found something as {finding.code}"
        assert finding.what.strip(), f"{rule.code}: a finding without a sentence"
        json.dumps(finding.to_json(), allow_nan=False)
    silent = list(rule.check(rule.passes()))
    assert not silent, f"{rule.code} fires on its own healthy example: {silent[0].what if silent else ''}"
