"""PLN108: BatchNorm on few examples."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Plan, Planning
from torchstone.core.rule import Rule, found
from torchstone.rules.recipe._toy import planning

LEAST = 8
WITH_BATCHNORM = ("small_resnet", "resnet18", "resnet50", "efficientnet_b0", "mobilenet_v3_small", "mobilenet_v3_large")
WITH_OTHER_NORMS = ("small_resnet", "resnet18", "resnet50")


def check(planning: Planning) -> Iterator[Finding]:
    """One finding where a model with BatchNorm sees few examples at a time."""
    plan, model, world = planning.plan, planning.plan["model.name"], planning.facts["world"]
    together = plan["train.batch_size"] / plan["train.accumulate"]
    micro = together if plan.get("train.sync_batchnorm") else together / world
    if model in WITH_BATCHNORM and plan.get("model.options.norm", "batch") == "batch" and micro < LEAST:
        yield found(
            RULE, f"{model} has BatchNorm and sees {micro:.0f} examples at a time",
            where=Where(field="train.batch_size"), evidence={"examples": micro, "threshold": LEAST},
            fix=" ".join([RULE.fix, *_ways_out(plan, together, micro)]),
        )


def _ways_out(plan: Plan, together: float, micro: float) -> Iterator[str]:
    """What else helps here: statistics over all ranks, or a norm that looks at each example alone."""
    if micro < LEAST <= together:
        yield f"Or --set train.sync_batchnorm=true: its statistics are then of {together:.0f} examples over all ranks."
    if plan["model.name"] in WITH_OTHER_NORMS and plan.get("model.options.weights") is None:
        yield "Or --set model.norm=group, which looks at each example alone."


RULE = Rule(
    code="PLN108",
    name="small_batch_for_batchnorm",
    severity="warning",
    summary="BatchNorm works on few examples at a time",
    why="Its statistics are noise then: training and evaluation see different networks.",
    fix="Take a larger train.batch_size or fewer train.accumulate, or a model with another norm.",
    source="Wu & He 2018, Group Normalization: the error of BatchNorm rises rapidly as the batch becomes smaller",
    check=check,
    trips=lambda: planning(train__batch_size=16, train__accumulate=4),
    passes=lambda: planning(train__batch_size=16, train__accumulate=2),
    wrong_when="pictures are so large that one gives many places to average over",
    threshold="8 examples: starting point, tune on your data",
)
