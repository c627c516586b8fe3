"""`review`: every question of a checklist, answered with evidence from the files; what people say is added to it."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from torchstone.core.errors import StoneError
from torchstone.core.finding import Finding
from torchstone.core.ledger import Ledger
from torchstone.core.review import VERDICTS, Answer, Checklist, Question, Reviewed, Verdict
from torchstone.core.rule import found
from torchstone.flows.checklist import proofs
from torchstone.flows.rulebook import the_rule
from torchstone.rules.review._ask import finding_proofs

# What a person may say.
SPOKEN: tuple[Verdict, ...] = ("pass", "fail", "not applicable")
KIND = "review answer"


@dataclass(frozen=True)
class Answered:
    """A question with its answer.

    found: what the files say. asked: code of each rule of the question → about what it was asked; unasked: the
    others. people: what people have said, oldest first, as rows of the ledger; the last one counts.
    """

    question: Question
    found: Answer
    asked: Mapping[str, str] = field(default_factory=dict)
    unasked: tuple[str, ...] = ()
    people: Sequence[Mapping[str, Any]] = ()
    findings: Sequence[Finding] = ()

    @property
    def verdict(self) -> Verdict:
        """What counts: the last word of a person, else what the files say."""
        return self.people[-1]["verdict"] if self.people else self.found.verdict

    @property
    def because(self) -> str:
        """Why, in one sentence."""
        if not self.people:
            return self.found.because
        row = self.people[-1]
        return f"{row['by']}, {row['time']}: {row['reason']}"

    def to_json(self) -> dict[str, Any]:
        """The answer as programs read it."""
        return {
            "key": self.question.key, "ask": self.question.ask, "verdict": self.verdict, "because": self.because,
            "found": {"verdict": self.found.verdict, "because": self.found.because},
            "evidence": [proof.to_json() for proof in self.found.proofs], "asked": dict(self.asked),
            "not_asked": list(self.unasked), "people": [dict(row) for row in self.people],
        }  # fmt: skip


@dataclass(frozen=True)
class Review:
    """All answers about one training. head: the digest of the ledger's last row, empty where there is no ledger yet."""

    reviewed: Reviewed
    checklist: Checklist
    answers: Sequence[Answered]
    head: str = ""

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many answers of each kind."""
        counted = Counter(one.verdict for one in self.answers)
        return {verdict: counted[verdict] for verdict in VERDICTS}

    @property
    def findings(self) -> list[Finding]:
        """What stands behind every answer that is a no."""
        return [finding for one in self.answers if one.verdict == "fail" for finding in one.findings]

    @property
    def is_refused(self) -> bool:
        """Whether an answer is a no."""
        return self.counts["fail"] > 0

    def to_json(self) -> dict[str, Any]:
        """The review as programs read it."""
        return {
            "run": self.reviewed.name, "kind": self.reviewed.kind, "status": self.reviewed.status,
            "checklist": self.checklist.name, "counts": self.counts,
            "questions": [one.to_json() for one in self.answers],
            "findings": [finding.to_json() for finding in self.findings], "ledger": self.head or None,
        }  # fmt: skip


def review(reviewed: Reviewed, checklist: Checklist, *, project: Path, mark: str) -> Review:
    """Answers every question. mark: of this training, to which answers of people are bound (`mark_of`).

    Raises StoneError where the ledger of the project is damaged.
    """
    ledger = Ledger(project)
    rows = [row for row in ledger.rows() if row.get("kind") == KIND]
    mine = [row for row in rows if row.get("mark") == mark and row.get("checklist") == checklist.name]
    answers = []
    for question in checklist.questions:
        people = [row for row in mine if row.get("question") == question.key and row.get("verdict") in SPOKEN]
        try:
            answers.append(answered(question, reviewed, people))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise _damaged(reviewed, question, error) from error
    return Review(reviewed, checklist, answers, ledger.head if rows else "")


def _damaged(run: Reviewed, question: Question, error: Exception) -> StoneError:
    what = f"{run.name} is damaged: {question.key} asks for what a row of it lacks: {type(error).__name__}: {error}"
    return StoneError(what, where=run.folder or run.name, fix="bring the file back from a copy, or make it again")


def answered(question: Question, run: Reviewed, people: Sequence[Mapping[str, Any]] = ()) -> Answered:
    """One question: a finding of its rules is a no, else its proof answers, else that all of its rules were silent."""
    hits = run.found(*question.rules)
    asked = {code: run.asked[code] for code in question.rules if code in run.asked}
    unasked = tuple(code for code in question.rules if code not in run.asked and code not in {h.code for h in hits})
    if hits:
        answer, findings = _of_findings(hits), list(hits)
    elif question.proof:
        answer = proofs()[question.proof](run, **question.options)
        rule = the_rule(question.proof)
        where = next((proof.where for proof in answer.proofs), None)
        findings = [found(rule, answer.because, where=where)] if answer.verdict == "fail" else []
        findings += [one for one in run.findings if answer.verdict == "fail" and _is_shown(one, answer)]
    else:
        answer, findings = _of_silence(question, asked, unasked), []
    return Answered(question, answer, asked, unasked, people, findings)


def _is_shown(finding: Finding, answer: Answer) -> bool:
    return any(proof.kind == "finding" and proof.says.startswith(f"{finding.code} ") for proof in answer.proofs)


def _of_findings(hits: Sequence[Finding]) -> Answer:
    more = f"; and {len(hits) - 1} more" if len(hits) > 1 else ""
    return Answer("fail", f"{hits[0].code}: {hits[0].what}{more}", finding_proofs(hits))


def _of_silence(question: Question, asked: Mapping[str, str], unasked: Sequence[str]) -> Answer:
    if not question.rules:
        return Answer("needs a person", "no rule answers this")
    if unasked:
        return Answer("needs a person", f"not asked: {', '.join(unasked)}")
    about = ", ".join(dict.fromkeys(asked.values()))
    return Answer("pass", f"{', '.join(asked)} found nothing in {about}")


def say(
    checklist: Checklist, key: str, said: Mapping[str, str], *, project: Path, run: str, mark: str
) -> dict[str, Any]:  # fmt: skip
    """Adds a person's answer to the ledger of the project, with the time; an earlier one stays below it.

    said: verdict (pass, fail, not applicable), by and reason. Raises StoneError for an unknown question or verdict, or
    where one of them is empty.
    """
    keys = {question.key.upper(): question.key for question in checklist.questions}
    if key.upper() not in keys:
        near = difflib.get_close_matches(key.upper(), keys, n=1)
        fix = f"did you mean {keys[near[0]]}?" if near else f"known: {', '.join(keys.values())}"
        raise StoneError(f"{checklist.name} has no question '{key}'", where="--answer", fix=fix)
    if said.get("verdict") not in SPOKEN:
        told = f"the verdict is '{said.get('verdict')}'"
        raise StoneError(told, where="--verdict", fix=f"one of: {', '.join(SPOKEN)}")
    for name in ("by", "reason"):
        if not _line(said.get(name, "")):
            raise StoneError("an answer needs a name and a reason", where=f"--{name}",
                             fix='for example: --answer Q9 --verdict pass --by Ada --reason "alpha 0.84"')
    row = {
        "kind": KIND, "run": run, "mark": mark, "checklist": checklist.name, "question": keys[key.upper()],
        "verdict": said["verdict"], "by": _line(said["by"]), "reason": _line(said["reason"]),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }  # fmt: skip
    return Ledger(project).append(row)


def _line(text: str) -> str:
    """One line of what can be shown: control characters could rewrite a terminal's other lines."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())
