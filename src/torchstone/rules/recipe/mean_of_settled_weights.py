"""PLN131: a mean of weights that no longer differ."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.rules.recipe._toy import planning

FALLING = ("cosine", "linear", "one_cycle", "polynomial", "warmup_stable_decay", "exponential", "plateau")


def check(planning: Planning) -> Iterator[Finding]:
    """One finding where swa collects its weights while the rate falls towards 0."""
    plan = planning.plan
    if plan["averaging.name"] == "swa" and plan["schedule.name"] in FALLING:
        yield found(
            RULE, f"averaging is swa, and {plan['schedule.name']} lets the rate fall while weights are collected",
            where=Where(field="schedule"), evidence={"schedule": plan["schedule.name"]},
        )  # fmt: skip


RULE = Rule(
    code="PLN131",
    name="mean_of_settled_weights",
    severity="advice",
    summary="weights are averaged while the learning rate falls to its end",
    why="The mean gains from weights that lie apart; under a small rate they are nearly one and the same.",
    fix="Take the schedule constant, or cosine_restarts with averaging.every at each end; or the averaging ema.",
    source="Izmailov et al. 2018, Averaging Weights Leads to Wider Optima and Better Generalization, section 3.2",
    check=check,
    trips=lambda: planning(averaging__name="swa"),
    passes=lambda: planning(averaging__name="swa", schedule__name="constant"),
    wrong_when="the schedule has a floor that keeps the weights moving",
)
