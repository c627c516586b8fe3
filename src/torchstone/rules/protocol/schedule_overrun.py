"""RUN319: a schedule that runs past its end."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_schedule


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per cosine schedule that is past T_max, where the rate climbs again."""
    for row in of(rows, "schedule"):
        end, now = row.get("t_max"), row.get("last_epoch")
        if row["kind"] == "CosineAnnealingLR" and end and now is not None and now > end + 1:
            what = f"CosineAnnealingLR was made for T_max={end} steps and has taken {now}: the rate climbs again"
            yield found(RULE, what, where=at(row), evidence={"t_max": end, "steps": now})


RULE = Rule(
    code="RUN319",
    name="schedule_overrun",
    severity="error",
    summary="the cosine schedule goes past its end and rises again",
    why="T_max was given in epochs and the scheduler steps per batch, or the run was made longer: the rate swings up "
        "and down over the whole run.",
    fix="Give T_max the number of scheduler.step() calls of the whole run (epochs x batches, if it steps per batch).",
    source="SimCLR#8; imagen-pytorch#71; measured with torch 2.14.1, 2026-12-01",
    check=check,
    trips=lambda: toy_loop(more=[toy_schedule(t_max=8)]),
    passes=lambda: toy_loop(more=[toy_schedule()]),
    wrong_when="a rate that swings is meant: CosineAnnealingWarmRestarts says so",
    threshold="more than one step past T_max",
)
