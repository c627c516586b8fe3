"""How a proof answers: with a verdict, a sentence, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchstone.core.finding import Finding, Where
from torchstone.core.own_loop import line_of
from torchstone.core.review import Answer, Proof, Reviewed
from torchstone.core.rule import Rule, found
from torchstone.parts.choices.family import family_of
from torchstone.rules._watched import at, of, training_loaders

Row = Mapping[str, Any]
UNSEEN = "torchstone watch does not see it"


def passed(because: str, *proofs: Proof) -> Answer:
    """Yes, and why."""
    return Answer("pass", because, proofs)


def refused(because: str, *proofs: Proof) -> Answer:
    """No, and why."""
    return Answer("fail", because, proofs)


def left_out(because: str, *proofs: Proof) -> Answer:
    """The question does not arise."""
    return Answer("not applicable", because, proofs)


def unsure(because: str, *proofs: Proof) -> Answer:
    """Nobody knows it from the files: what was not seen."""
    return Answer("needs a person", because, proofs)


def said_no(rule: Rule, answer: Answer) -> Iterator[Finding]:
    """The finding of a rule whose proof says no."""
    if answer.verdict == "fail":
        where = next((proof.where for proof in answer.proofs), Where())
        yield found(rule, answer.because, where=where, evidence={"proofs": [one.to_json() for one in answer.proofs]})


def plan_line(run: Reviewed, field: str) -> Proof:
    """A line of the plan: value, origin, reason."""
    choice = run.plan.choices[field]
    says = f"{field.replace('.options.', '.')} = {choice.value} ({choice.origin}): {choice.reason}"
    return Proof("plan", says, Where(path=run.path("plan.yaml"), line=run.lines.get(field), field=field))


def plan_lines(run: Reviewed, *fields: str) -> tuple[Proof, ...]:
    """The lines of those of these fields that the plan has."""
    return tuple(plan_line(run, field) for field in fields if field in run.plan.choices)


def ledger(run: Reviewed, line: int, row: Row, says: str) -> Proof:
    """A row of the trace."""
    return Proof("ledger", says, Where(path=run.path("trace.jsonl"), line=line, step=row.get("step")))


def seen_row(row: Row, says: str) -> Proof:
    """A row of a watched loop."""
    return Proof("ledger", says, at(row))


def finding_proofs(findings: Sequence[Finding]) -> tuple[Proof, ...]:
    """What rules found."""
    return tuple(Proof("finding", f"{one.code} {one.severity}: {one.what}", one.where) for one in findings)


def file_proof(run: Reviewed, name: str, digest: str, says: str = "") -> Proof:
    """A file by its digest."""
    return Proof("file", f"{name}: {says or 'SHA-256'} {digest}", Where(path=run.path(name)))


def by_the_loop(run: Reviewed, because: str, page: str, words: str, *proofs: Proof) -> Answer:
    """Yes, where the loop that trained the run is, byte for byte, the one installed here, in which `words` stand."""
    starts = run.of("start")
    if not starts or not run.of("step"):
        return unsure("the run has not made a step: there is nothing to judge")
    digests = {row.get("loop") for _, row in starts}
    if None in digests:
        return unsure("the run does not say which loop trained it: a version before this review made it")
    if digests != {run.loop}:
        version = (run.environment.get("packages") or {}).get("torchstone", "another version")
        return unsure(f"torchstone {version} trained it, with a loop that is not the one installed here; review it "
                      f"with that version")
    line, row = starts[-1]
    ran = ledger(run, line, row, f"the loop that trained it is the one installed here, SHA-256 {run.loop}")
    place = Where(path=f"torchstone/engines/pytorch/{page}", line=line_of(page, words))
    return passed(because, Proof("code", words, place), ran, *proofs)


def gap(run: Reviewed) -> str:
    """Where the rows about examples leave windows out; empty where they tell of every window that was trained on.

    Each row must follow on the one before, and tell of at least as many windows as steps were made since (a loss scaler
    may skip steps).
    """
    epoch, due, step = -1, 0, 0
    for line, row in run.of("examples"):
        first, last = row["windows"]
        begins = due if row["epoch"] == epoch else 0
        if first != begins or row["step"] - step > last - first + 1:
            return f"windows are left out before line {line}, between step {step:,} and step {row['step']:,}"
        epoch, due, step = row["epoch"], last + 1, row["step"]
    return ""


def is_transformer(run: Reviewed) -> bool | None:
    """Whether the model is one, by its name; None where a foreign class's name says nothing."""
    if run.kind == "run":
        modality = str(run.data.get("task", "")).partition("-")[0].replace("tabular", "table")
        return family_of(str(run.plan.get("model.name", "")), modality) == "transformer"
    names = [str(row.get("class", "")) for row in of(run.rows, "model")]
    return True if any(family_of(name) == "transformer" for name in names) else None


def evaluations(run: Reviewed) -> list[Row]:
    """The passes of a watched loop over loaders that are not trained with, after the first step."""
    trained = training_loaders(run.rows)
    return [row for row in of(run.rows, "pass")
            if row["loader"] not in trained and not row["backwards"] and row["forwards"] and row["first_step"] > 0]


def steps(run: Reviewed) -> list[Row]:
    """The steps of a watched loop that were seen."""
    return of(run.rows, "step")


A_STEP = "step of an optimizer"


def not_seen(run: Reviewed, what: str) -> Answer:
    """For a person: of a script that was only read, or of a loop in which this was not seen."""
    if run.kind == "code":
        return unsure(f"nothing ran: {what} is seen in a run, or by torchstone watch")
    return unsure(f"not seen: {what}")
