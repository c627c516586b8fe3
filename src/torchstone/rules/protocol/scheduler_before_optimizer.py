"""RUN317: the learning-rate scheduler steps before the optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_schedule

NUM = 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per scheduler that stepped with fresh gradients not yet used, at least three times and mostly."""
    for row in of(rows, "schedule"):
        if is_sick(row):
            what = (f"{row['kind']} stepped between loss.backward() and optimizer.step(), {row['pending']} of "
                    f"{row['steps']} times")
            yield found(RULE, what, where=at(row),
                        evidence={"pending": row["pending"], "steps": row["steps"]})


def is_sick(row: Row) -> bool:
    """Whether most of its steps came too early, and not in the middle of an accumulation."""
    is_early = row["pending"] >= NUM and row["pending"] > 0.8 * row["steps"]
    return bool(is_early and row["inside"] < 0.3 * row["steps"])


RULE = Rule(
    code="RUN317",
    name="scheduler_before_optimizer",
    severity="error",
    summary="scheduler.step() stands before optimizer.step()",
    why="The first rate of the schedule is never used, and each step takes the rate of the next one.",
    fix="Call scheduler.step() after optimizer.step().",
    source="torch 2.14 documentation, torch.optim: How to adjust learning rate; hyrax#983; GaNDLF#107",
    check=check,
    trips=lambda: toy_loop(more=[toy_schedule(pending=40)]),
    passes=lambda: toy_loop(more=[toy_schedule()]),
    wrong_when="not known to be wrong: schedulers that step once an epoch have no gradients waiting",
    threshold=f"{NUM} times, and more than 80 % of its steps",
)
