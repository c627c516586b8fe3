"""PLN115: two ways to end a run at once."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.rules.recipe._toy import planning

FLAT = ("constant", "warmup_stable_decay")


def check(planning: Planning) -> Iterator[Finding]:
    """One finding where schedule_free runs under a schedule that falls."""
    plan = planning.plan
    if plan["optimizer.name"] == "schedule_free" and plan["schedule.name"] not in FLAT:
        yield found(
            RULE, f"the optimizer is schedule_free and the schedule is {plan['schedule.name']}, which falls",
            where=Where(field="schedule"), evidence={"schedule": plan["schedule.name"]},
        )


RULE = Rule(
    code="PLN115",
    name="decay_under_schedule_free",
    severity="warning",
    summary="schedule_free runs under a falling schedule",
    why="Its average takes the place of a falling rate: with both, the later steps hardly count.",
    fix="Set schedule={name: constant, warmup: 0.05}.",
    source="Defazio et al. 2024, The Road Less Scheduled: an average instead of a schedule",
    check=check,
    trips=lambda: planning(optimizer__name="schedule_free"),
    passes=lambda: planning(optimizer__name="schedule_free", schedule__name="constant"),
)
