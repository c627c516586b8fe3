"""PLN110: a schedule with steps that the run never makes."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.rules.recipe._toy import num_steps, planning

FIELDS = ("schedule.options.warmup", "schedule.options.milestones")


def check(planning: Planning) -> Iterator[Finding]:
    """One finding per option of the schedule that names a step beyond the last one; and for cycles of no step."""
    plan, steps = planning.plan, num_steps(planning)
    for field in FIELDS:
        value = plan.get(field)
        named = [at for at in (value if isinstance(value, list) else [value]) if isinstance(at, int) and at >= steps]
        if named:
            written = field.replace(".options.", ".")
            yield found(
                RULE, f"{written} names step {max(named):,}, the run has {steps:,}", where=Where(field=written),
                evidence={"step": max(named), "steps": steps},
            )
    cycles = plan.get("schedule.options.cycles")
    if isinstance(cycles, int) and cycles > steps:
        yield found(RULE, f"schedule.cycles is {cycles:,}, the run has {steps:,} steps",
                    where=Where(field="schedule.cycles"), evidence={"cycles": cycles, "steps": steps})


RULE = Rule(
    code="PLN110",
    name="schedule_misses_run",
    severity="error",
    summary="the schedule is longer than the run",
    why="What it would do after the last step never happens: the rate never gets to its full height, or never falls.",
    fix="Give shares of the run instead of steps (warmup: 0.05, milestones: [0.5, 0.75]), or train for more epochs.",
    source="Loshchilov & Hutter 2017, SGDR: the last steps at a small rate bring much of the gain",
    check=check,
    trips=lambda: planning(schedule__name="constant", schedule__options__warmup=500),
    passes=lambda: planning(schedule__name="constant", schedule__options__warmup=100),
    wrong_when="the run is meant to be gone on with, with more epochs",
)
