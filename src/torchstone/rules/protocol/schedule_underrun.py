"""RUN331: a schedule made for batches that steps once per epoch."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_schedule

HALF, APART, MEANT = 0.5, 4, 0.8


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per one-cycle schedule that ends in its first half although enough batches were run."""
    if not of(rows, "end"):
        return
    for row in of(rows, "schedule"):
        total, steps, optimizer_steps = row.get("total_steps"), row["steps"], row["optimizer_steps"]
        if not total or steps >= HALF * total or optimizer_steps < MEANT * total or optimizer_steps < APART * steps:
            continue
        what = f"{row['kind']} was made for {total} steps and took {steps} in {optimizer_steps} steps of its optimizer"
        yield found(RULE, what, where=at(row),
                    evidence={"total_steps": total, "steps": steps, "optimizer_steps": optimizer_steps})



RULE = Rule(
    code="RUN331",
    name="schedule_underrun",
    severity="error",
    summary="a one-cycle schedule that never gets past its warm-up",
    why="Its length is counted in batches and it steps per epoch: the rate creeps up and is never brought down.",
    fix="Call scheduler.step() after each optimizer.step(), or give total_steps the number of epochs.",
    source="torch 2.14 documentation, OneCycleLR; CodefyUI#205",
    check=check,
    trips=lambda: toy_loop(more=[toy_schedule(kind="OneCycleLR", total_steps=40, steps=4)]),
    passes=lambda: toy_loop(more=[toy_schedule(kind="OneCycleLR", total_steps=40)]),
    wrong_when="the schedule was made for a longer run, steps per epoch, and this run was cut short",
    threshold=f"less than {HALF:g} of its length, in {MEANT:g} of as many optimizer steps or more; judged at the end",
)
