"""PLN117: mixed pictures under a loss that wants one class."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.rules.recipe._toy import planning

# Losses that read a distribution over the classes as the target of one example.
SOFT = ("cross_entropy", "logit_adjusted")
HARD = ("focal", "arcface", "triplet", "binary_cross_entropy", "dice")


def check(planning: Planning) -> Iterator[Finding]:
    """One finding where examples of one class are mixed and the loss cannot read the mixture."""
    mix, loss = planning.plan.get("mix.name"), planning.plan["loss.name"]
    if mix and planning.task.target == "single" and loss in HARD:
        yield found(
            RULE, f"{mix} makes targets of two classes, which {loss} does not read as shares of one answer",
            where=Where(field="mix"), evidence={"mix": mix, "loss": loss},
        )


RULE = Rule(
    code="PLN117",
    name="mix_with_hard_loss",
    severity="error",
    summary="pictures are mixed under a loss that cannot read mixed targets",
    why="focal and binary_cross_entropy take such a target for several labels, each a yes or no of its own: the model "
    "is then trained on another task than it is judged on; others refuse it.",
    fix=f"Use {' or '.join(SOFT)}, or leave mix out.",
    source="Zhang et al. 2018, mixup, section 2: targets are mixed with the pictures",
    check=check,
    trips=lambda: planning(mix__name="mixup", loss__name="focal"),
    passes=lambda: planning(mix__name="mixup", loss__name="cross_entropy"),
)
