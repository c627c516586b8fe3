"""RUN318: the scheduler steps more often than the optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_schedule

NUM, RATIO, INSIDE = 6, 1.5, 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per scheduler with 1.5 steps or more for each step of its optimizer."""
    for row in of(rows, "schedule"):
        if is_sick(row):
            what = f"{row['kind']} stepped {row['steps']} times for {row['optimizer_steps']} steps of its optimizer"
            yield found(RULE, what, where=at(row),
                        evidence={"steps": row["steps"], "optimizer_steps": row["optimizer_steps"]})


def is_sick(row: Row) -> bool:
    """Whether it steps too often, by the count or because backward passes follow before the optimizer's step."""
    is_ahead = row["steps"] >= NUM and row["steps"] >= RATIO * row["optimizer_steps"]
    return bool(is_ahead or row["inside"] >= INSIDE)


RULE = Rule(
    code="RUN318",
    name="scheduler_too_often",
    severity="error",
    summary="the scheduler steps once per micro-batch",
    why="With gradient accumulation the schedule runs through several times too fast and ends long before the run.",
    fix="Call scheduler.step() where optimizer.step() is called, and nowhere else.",
    source="starVLA#210; llama-cookbook#27; pytorch-lightning#1476",
    check=check,
    trips=lambda: toy_loop(more=[toy_schedule(steps=40, optimizer_steps=20, inside=20, pending=20)]),
    passes=lambda: toy_loop(more=[toy_schedule()]),
    wrong_when="the optimizer steps once for several steps of the schedule on purpose",
    threshold=f"{RATIO} steps for one of the optimizer after {NUM}, or {INSIDE} inside of an accumulation",
    explains=("RUN317", "RUN319"),
)
