"""Findings about code as services read them: SARIF 2.1.0, and workflow commands of GitHub Actions."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule
from torchstone.flows.audit_places import Place

LEVELS = {"error": "error", "warning": "warning", "advice": "note"}
KINDS = {"error": "error", "warning": "warning", "advice": "notice"}
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
# Rules of this family are about what a file or a call may do to the machine.
SECURITY = ("COD401", "COD402")


def sarif(
    findings: Sequence[tuple[Finding, Place]], waived: Sequence[tuple[Finding, Place, str]], rules: Iterable[Rule],
    version: str,
) -> dict[str, Any]:  # fmt: skip
    """One SARIF log with one run: every rule that was asked, and a result for each finding.

    Paths below the current folder are relative to it, as the format asks; lines and columns count from 1, columns in
    characters. waived: findings that a comment silences, with its reason; they are results with a suppression.
    version: torchstone's.
    """
    asked = sorted(rules, key=lambda rule: rule.code)
    index = {rule.code: number for number, rule in enumerate(asked)}
    seen: Counter[str] = Counter()
    results = [_result(finding, place, index, seen) for finding, place in findings]
    for finding, place, reason in waived:
        silenced = {"kind": "inSource", "status": "accepted", "justification": reason}
        results.append({**_result(finding, place, index, seen), "suppressions": [silenced]})
    driver = {
        "name": "torchstone", "version": version, "semanticVersion": version, "rules": [_rule(rule) for rule in asked],
    }  # fmt: skip
    run = {
        "tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results,
    }  # fmt: skip
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    wrong = f"\n\nWrong when: {rule.wrong_when}" if rule.wrong_when else ""
    tags = ["training", *(["security"] if rule.code in SECURITY else [])]
    return {
        "id": rule.code, "name": rule.name, "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.fix}\n\nSource: {rule.source}{wrong}\n\nMore: torchstone explain {rule.code}"},
        "defaultConfiguration": {"level": LEVELS[rule.severity]}, "properties": {"tags": tags},
    }  # fmt: skip


def _result(finding: Finding, place: Place, index: dict[str, int], seen: Counter[str]) -> dict[str, Any]:
    cell = f" ({place.cell})" if place.cell else ""
    result: dict[str, Any] = {
        "ruleId": finding.code, "level": LEVELS[finding.severity],
        "message": {"text": f"{sentence(finding.what)}{cell} {sentence(finding.why)} {finding.fix}".strip()},
    }  # fmt: skip
    if finding.code in index:
        result["ruleIndex"] = index[finding.code]
    if not place.path:
        return result
    where: dict[str, Any] = {"artifactLocation": location(place.path)}
    if place.line:
        where["region"] = _region(place)
    result["locations"] = [{"physicalLocation": where}]
    result["partialFingerprints"] = {"torchstoneLine/v1": _fingerprint(finding, place, seen)}
    return result


def _region(place: Place) -> dict[str, Any]:
    if not place.column:
        return {"startLine": place.line}
    return {"startLine": place.line, "startColumn": place.column, "endLine": place.line, "endColumn": place.end_column}


def _fingerprint(finding: Finding, place: Place, seen: Counter[str]) -> str:
    """What stays the same when lines are added above: rule, file, the line's text, and its number among its likes."""
    key = f"{finding.code}\0{location(place.path)['uri']}\0{place.text}"
    seen[key] += 1
    return hashlib.sha256(f"{key}\0{seen[key]}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def location(path: str) -> dict[str, str]:
    """A path as a reference of the format: relative to the current folder where it is below it, else absolute."""
    full = Path(path).absolute()
    if full.is_relative_to(Path.cwd()):
        return {"uri": quote(os.fsencode(full.relative_to(Path.cwd()).as_posix())), "uriBaseId": "%SRCROOT%"}
    return {"uri": full.as_uri()}


def sentence(text: str) -> str:
    """A text that ends in a full stop."""
    return text if not text or text.endswith((".", "!", "?", ":")) else f"{text}."


def workflow_commands(findings: Iterable[tuple[Finding, Place]]) -> list[str]:
    """The findings as workflow commands of GitHub Actions, one line each, with the format's own escapes."""
    return [
        f"::{KINDS[finding.severity]} {_place(place)}title={_property(f'torchstone {finding.code}')}::"
        f"{_message(f'{sentence(finding.what)} {finding.fix}')}"
        for finding, place in findings
    ]


def _place(place: Place) -> str:
    path = Path(place.path).absolute()
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    told = {"file": _property(shown.as_posix()) if place.path else "", "line": place.line, "col": place.column}
    return "".join(f"{key}={value}," for key, value in told.items() if value)


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
