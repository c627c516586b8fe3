"""PLN118: a batch beyond what plain rates bear."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.parts.choices.which_optimizer import LARGE_BATCH
from torchstone.rules.recipe._toy import planning


def check(planning: Planning) -> Iterator[Finding]:
    """One finding where a step has more examples than the threshold and the optimizer is not made for that."""
    batch, optimizer = planning.plan["train.batch_size"], planning.plan["optimizer.name"]
    if batch > LARGE_BATCH and optimizer != "lamb":
        yield found(
            RULE, f"train.batch_size is {batch:,} and the optimizer is {optimizer}", where=Where(field="optimizer"),
            evidence={"batch_size": batch, "threshold": LARGE_BATCH},
        )


RULE = Rule(
    code="PLN118",
    name="large_batch",
    severity="advice",
    summary="a very large batch under an optimizer for usual ones",
    why="At the rate that so large a batch needs, single layers are thrown while others stand still.",
    fix="Use optimizer=lamb, or a smaller train.batch_size.",
    source="You et al. 2020, Large Batch Optimization for Deep Learning; Goyal et al. 2017, figure 1",
    check=check,
    trips=lambda: planning(facts={"num_train": 100_000}, train__batch_size=8192),
    passes=lambda: planning(facts={"num_train": 100_000}, train__batch_size=8192, optimizer__name="lamb"),
    wrong_when="you have warmed up and tuned the rate for this batch",
    threshold="4,096 examples a step: starting point, ours; Goyal et al. 2017 hold their accuracy up to 8,192 with "
              "warm-up, and Nado et al. 2021 beyond it with tuned momentum and Adam",
)
