"""RUN510: a run that nobody can repeat."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, of, toy_loop

STEPS = 5


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where a script that was watched from its first line on trained without seeding torch."""
    is_whole = any(row.get("is_script") for row in of(rows, "start"))
    for row in of(rows, "end"):
        if is_whole and row["steps"] >= STEPS and not row.get("num_seeds"):
            what = f"{row['steps']} steps were taken and torch.manual_seed was never called"
            yield found(RULE, what, evidence={"steps": row["steps"]})


RULE = Rule(
    code="RUN510",
    name="no_seed",
    severity="advice",
    summary="no seed: the first weights and the order of the data are different in every run",
    why="Two runs differ by chance: what helped and what was luck cannot be told apart; a fault does not come back.",
    fix="Call torch.manual_seed(seed) first, and report several seeds.",
    source="Bouthillier et al. 2021, Accounting for Variance in Machine Learning Benchmarks",
    check=check,
    trips=lambda: [{"event": "start", "is_script": True}, *toy_loop()],
    passes=lambda: [
        {"event": "start", "is_script": True}, *toy_loop()[:-1], {"event": "end", "steps": 40, "num_seeds": 1}],
    wrong_when="chance is meant, as in an ensemble",
)
