"""PLN106: early stopping under a schedule with a fixed end."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.rules.recipe._toy import planning

NEED_THEIR_END = ("cosine", "linear", "one_cycle", "polynomial", "warmup_stable_decay")


def check(planning: Planning) -> Iterator[Finding]:
    """One finding where early stopping can cut off a schedule that needs its end."""
    schedule = planning.plan["schedule.name"]
    for field in ("train.patience", "train.stop_on.patience"):
        patience = planning.plan.get(field)
        if patience and schedule in NEED_THEIR_END:
            yield found(
                RULE, f"{field} is {patience} and the schedule is {schedule}, which is best at its end",
                where=Where(field=field), evidence={"patience": patience, "schedule": schedule},
            )


RULE = Rule(
    code="PLN106",
    name="early_end_of_schedule",
    severity="advice",
    summary="early stopping may cut a schedule off before its end",
    why="The small rates at the end bring much of the gain; a run that stops before never gets there.",
    fix="Take fewer epochs instead of patience, or the schedule plateau or constant.",
    source="Loshchilov & Hutter 2017, SGDR; Smith & Topin 2018, Super-Convergence",
    check=check,
    trips=lambda: planning(train__patience=3),
    passes=lambda: planning(train__patience=3, schedule__name="constant"),
    wrong_when="patience only guards against runs that have failed",
)
