"""PLN109: more workers than cores."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.rules.recipe._toy import planning


def check(planning: Planning) -> Iterator[Finding]:
    """One finding where worker processes outnumber the cores."""
    workers, cores = planning.plan["train.workers"], planning.facts["num_cores"]
    if workers > cores:
        yield found(
            RULE, f"train.workers is {workers}, this process may use {cores} cores",
            where=Where(field="train.workers"), evidence={"workers": workers, "cores": cores},
        )


RULE = Rule(
    code="PLN109",
    name="too_many_workers",
    severity="advice",
    summary="there are more worker processes than cores",
    why="They take the cores from each other and from the training, and each holds memory.",
    fix="Set train.workers to the number of cores less one.",
    source="PyTorch 2.14, torch.utils.data: its warning for more workers than the system suggests",
    check=check,
    trips=lambda: planning(train__workers=8),
    passes=lambda: planning(train__workers=1),
    wrong_when="reading waits for a slow disk or network",
)
