"""PLN107: an average that is longer than the run."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.rules.recipe._toy import planning

LEAST = 5


def check(planning: Planning) -> Iterator[Finding]:
    """One finding where the average still remembers the first weights at the end."""
    plan = planning.plan
    decay = plan.get("averaging.options.decay")
    if plan["averaging.name"] != "ema" or decay is None:
        return
    steps = plan["train.epochs"] * max(planning.facts["num_train"] // plan["train.batch_size"], 1)
    memory = 1 / max(1 - decay, 1e-12)
    if memory * LEAST > steps:
        yield found(
            RULE, f"the average remembers about {memory:,.0f} steps, the run has {steps:,}",
            where=Where(field="averaging.decay"), evidence={"memory": memory, "steps": steps, "threshold": LEAST},
        )


RULE = Rule(
    code="PLN107",
    name="average_lags",
    severity="warning",
    summary="the average of the weights is longer than the run",
    why="The averaged weights are judged and exported, and are mostly those of the beginning.",
    fix="Take a smaller averaging.decay, for instance 1 - 10 / (number of steps).",
    source="arithmetic: with decay d the step k ago weighs (1-d) d^k, so that all of them last 1/(1-d) steps",
    check=check,
    trips=lambda: planning(averaging__name="ema", averaging__options__decay=0.9999),
    passes=lambda: planning(averaging__name="ema", averaging__options__decay=0.95),
    threshold="the run must be 5 times as long as the memory of the average; starting point, ours",
)
