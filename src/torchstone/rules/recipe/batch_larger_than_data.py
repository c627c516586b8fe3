"""PLN104: one step per epoch."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.rules.recipe._toy import planning


def check(planning: Planning) -> Iterator[Finding]:
    """One finding where a batch holds all training examples or more."""
    batch, num = planning.plan["train.batch_size"], planning.facts["num_train"]
    if batch > num:
        yield found(
            RULE, f"train.batch_size is {batch:,}, there are {num:,} training examples: one step an epoch",
            where=Where(field="train.batch_size"), evidence={"batch_size": batch, "num_train": num},
        )


RULE = Rule(
    code="PLN104",
    name="batch_larger_than_data",
    severity="warning",
    summary="a batch is larger than the training part",
    why="Every epoch is one step: so many epochs are few steps, and there is no noise in the gradient.",
    fix="Use a smaller train.batch_size.",
    source="Keskar et al. 2017, On Large-Batch Training",
    check=check,
    trips=lambda: planning(train__batch_size=2000),
    passes=lambda: planning(train__batch_size=1000),
    wrong_when="full-batch training is meant",
)
