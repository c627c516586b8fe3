"""One thing looked for: a rule of any subject, in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from torchstone.core.finding import Confidence, Finding, Severity, Where

Stage = Literal["preview", "stable"]


def _always(finding: Finding, other: Finding) -> bool:
    return True


@dataclass(frozen=True)
class Rule:
    """A rule: its page and its judge.

    check: takes the subject (a `Dataset`, a `Recipe`, a trace, …) and yields findings.
    trips, passes: make one subject on which the rule must fire, and its corrected twin.
    wrong_when: when a finding of this rule is not a fault; threshold: value and its source.
    confidence: certain for what the rule proves, likely for what it infers from numbers.
    explains: codes of rules whose findings have the same cause and go unsaid beside one of this rule.
    is_of_one_cause: asked of a finding of this rule and one that it would explain, where that is not always so.
    """

    code: str
    name: str
    severity: Severity
    summary: str
    why: str
    fix: str
    source: str
    check: Callable[[Any], Iterable[Finding]]
    trips: Callable[[], Any]
    passes: Callable[[], Any]
    wrong_when: str = "not known to be wrong"
    threshold: str = "none: a yes-or-no rule"
    stage: Stage = "preview"
    needs: tuple[str, ...] = field(default=())
    confidence: Confidence = "certain"
    explains: tuple[str, ...] = field(default=())
    is_of_one_cause: Callable[[Finding, Finding], bool] = field(default=_always)


def found(
    rule: Rule,
    what: str,
    *,
    where: Where | None = None,
    evidence: Mapping[str, Any] | None = None,
    severity: Severity | None = None,
    fix: str | None = None,
) -> Finding:
    """A finding of `rule`: its severity, reason, mend and source, with what was seen here."""
    return Finding(
        code=rule.code,
        severity=severity or rule.severity,
        what=what,
        why=rule.why,
        fix=fix or rule.fix,
        where=where or Where(),
        evidence=evidence or {},
        source=rule.source,
        confidence=rule.confidence,
    )
