"""What a rule saw: the one kind of answer in torchstone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Severity = Literal["error", "warning", "advice"]
Confidence = Literal["certain", "likely"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "advice")


@dataclass(frozen=True)
class Where:
    """Where a finding points to; only what applies is set."""

    path: str | None = None
    line: int | None = None
    field: str | None = None
    example: str | None = None
    step: int | None = None
    layer: str | None = None

    def to_json(self) -> dict[str, str | int]:
        """Only the keys that are set."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    def __str__(self) -> str:
        parts = [self.path if self.line is None else f"{self.path}:{self.line}"] if self.path else []
        for key in ("field", "example", "step", "layer"):
            value = getattr(self, key)
            if value is not None:
                parts.append(f"{key} {value}")
        return " ".join(parts)


@dataclass(frozen=True)
class Finding:
    """One thing that a rule saw.

    what: the sentence with the numbers; why: the harm; fix: the smallest mend.
    evidence: the measured value beside its threshold, ids, counts (JSON values only).
    source: paper, issue or measurement behind the rule.
    confidence: whether the rule proves it (certain) or infers it from numbers (likely).
    """

    code: str
    severity: Severity
    what: str
    why: str
    fix: str
    where: Where = Where()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    confidence: Confidence = "certain"

    def to_json(self) -> dict[str, Any]:
        """The finding as programs read it."""
        return {
            "code": self.code,
            "severity": self.severity,
            "where": self.where.to_json(),
            "what": self.what,
            "why": self.why,
            "fix": self.fix,
            "evidence": dict(self.evidence),
            "source": self.source,
            "confidence": self.confidence,
        }

    @staticmethod
    def from_json(row: Mapping[str, Any]) -> Finding:
        """The inverse of `to_json`."""
        return Finding(**{**row, "where": Where(**row["where"])})


def has_errors(findings: Iterable[Finding]) -> bool:
    """Whether a gate would close."""
    return any(finding.severity == "error" for finding in findings)
