"""PLN105: accuracy where one class is nearly all."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.rules.recipe._toy import planning

MOST = 0.9


def check(planning: Planning) -> Iterator[Finding]:
    """One finding where accuracy chooses the best checkpoint and one class has nearly all examples."""
    largest = planning.facts.get("largest_class")
    if planning.plan["metric"] != "accuracy" or largest is None:
        return
    share = largest / planning.facts["num_train"]
    if share >= MOST:
        yield found(
            RULE, f"one class has {share:.1%} of the training examples; always saying it has that accuracy",
            where=Where(field="metric"), evidence={"majority_share": share, "threshold": MOST},
        )


RULE = Rule(
    code="PLN105",
    name="accuracy_of_majority",
    severity="warning",
    summary="accuracy chooses the checkpoint although one class is nearly everything",
    why="The best checkpoint by accuracy may be one that never finds the other classes.",
    fix="Set metric to balanced_accuracy or macro_f1.",
    source="He & Garcia 2009, Learning from Imbalanced Data",
    check=check,
    trips=lambda: planning(facts={"largest_class": 950, "smallest_class": 20}),
    passes=lambda: planning(facts={"largest_class": 500, "smallest_class": 250}),
    threshold="a share of 90 % for the largest class; a convention of ours, tune it",
)
