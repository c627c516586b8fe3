"""The nouns of a review: what is known of a run, what is asked of it, and what is answered with which evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Plan

Verdict = Literal["pass", "fail", "not applicable", "needs a person"]
VERDICTS: tuple[Verdict, ...] = ("fail", "needs a person", "pass", "not applicable")
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Proof:
    """One piece of evidence: what it shows, and where it can be looked up (file and line, field, step).

    kind: `finding`, `plan` (a line of it), `ledger` (a row of the trace or of what was watched), `file` (its
    SHA-256), `code` (a page of the loop), `person`.
    """

    kind: str
    says: str
    where: Where = field(default_factory=Where)

    def to_json(self) -> dict[str, Any]:
        """The piece as programs read it."""
        return {"kind": self.kind, "says": self.says, "where": self.where.to_json()}


@dataclass(frozen=True)
class Answer:
    """What one question comes to: because says it in a sentence with the numbers; proofs: what it rests on."""

    verdict: Verdict
    because: str
    proofs: tuple[Proof, ...] = ()


@dataclass(frozen=True)
class Question:
    """One entry of a checklist.

    key: its short name, such as Q11. rules: codes whose findings are a no. proof: the rule of `rules/review` that
    looks into the run itself, with its options; empty for none.
    """

    key: str
    ask: str
    rules: tuple[str, ...] = ()
    proof: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    source: str = ""


@dataclass(frozen=True)
class Checklist:
    """A named list of questions. source: the file that it was read from, `torchstone` for the one that is packaged."""

    name: str
    questions: tuple[Question, ...]
    source: str = "torchstone"


@dataclass(frozen=True)
class Reviewed:
    """One training as far as it is known: what the rules of `rules/review` judge. What is not known is empty.

    kind: `run` (a run of torchstone), `watched` (rows of `torchstone watch`), `code` (an audit alone).
    folder: what the paths of proofs start with. lines: field of the plan → its line in plan.yaml.
    trace: rows of trace.jsonl, the first on line 1. rows: what a watched loop showed (docs/watched-rows.md).
    papers: file → its SHA-256 now; written: file → when it was last written, in seconds since 1970.
    checkpoint: of the best one, `name`, `step`, `files` (name → SHA-256) and `wrong` (files that are not what the
    manifest says). loop: digest of the loop that is installed here.
    findings: all that is known to be wrong. asked: code of a rule → about what it was asked.
    agreement: what `torchstone agree --json` said, with `path` and `digest` of the file.
    """

    name: str
    kind: Literal["run", "watched", "code"]
    folder: str = ""
    status: str = ""
    plan: Plan = field(default_factory=lambda: Plan({}))
    lines: Mapping[str, int] = field(default_factory=dict)
    trace: Sequence[Row] = ()
    rows: Sequence[Row] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] = field(default_factory=dict)
    papers: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, float] = field(default_factory=dict)
    checkpoint: Mapping[str, Any] = field(default_factory=dict)
    loop: str = ""
    findings: Sequence[Finding] = ()
    asked: Mapping[str, str] = field(default_factory=dict)
    agreement: Mapping[str, Any] = field(default_factory=dict)

    def of(self, event: str) -> list[tuple[int, Row]]:
        """The rows of one kind of the trace, each with its line in trace.jsonl."""
        return [(line, row) for line, row in enumerate(self.trace, start=1) if row.get("event") == event]

    def found(self, *codes: str) -> list[Finding]:
        """The findings with these codes."""
        return [finding for finding in self.findings if finding.code in codes]

    def path(self, name: str) -> str:
        """A file of the run, as a proof points to it."""
        return f"{self.folder}/{name}" if self.folder else name


# The proof of a question: looks into a run, and says what it saw.
Judge = Callable[..., Answer]
