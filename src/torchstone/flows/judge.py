"""Asks every rule of a subject, as the recipe wants it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torchstone.core.catalog import all_rules
from torchstone.core.finding import SEVERITIES, Finding

if TYPE_CHECKING:
    from torchstone.core.recipe import Rules
    from torchstone.core.rule import Rule


def judge(subject: Any, folder: str, rules: Rules) -> list[Finding]:
    """What the rules of `folder` (such as `torchstone.rules.dataset`) find in `subject`.

    Ignored rules are not asked. Severities follow `rules.severity`; errors come first, then by code.
    """
    asked = [rule for rule in all_rules(folder) if not is_ignored(rule.code, rules.ignore)]
    return selected((finding for rule in asked for finding in rule.check(subject)), rules)


def selected(findings: Iterable[Finding], rules: Rules) -> list[Finding]:
    """The findings that the recipe does not ignore, with its severities; errors first, then by code."""
    kept = [
        replace(finding, severity=rules.severity.get(finding.code, finding.severity))
        for finding in findings if not is_ignored(finding.code, rules.ignore)
    ]
    return sorted(kept, key=lambda finding: (SEVERITIES.index(finding.severity), finding.code))


def explained(findings: Iterable[Finding], rules: Iterable[Rule]) -> set[str]:
    """The codes of findings that go unsaid: another one of them has the same cause, by its rule."""
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        by_code.setdefault(finding.code, []).append(finding)
    return {
        code for rule in rules if rule.code in by_code for code in rule.explains
        if any(rule.is_of_one_cause(mine, other) for mine in by_code[rule.code] for other in by_code.get(code, ()))
    }  # fmt: skip


def is_ignored(code: str, ignore: Iterable[str]) -> bool:
    """Whether a code (`DAT203`) is in a list of codes and families (`DAT`)."""
    family = code.rstrip("0123456789")
    return any(entry in (code, family) for entry in ignore)
