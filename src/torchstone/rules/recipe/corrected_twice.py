"""PLN116: imbalance mended in two places."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.parts.samplers import BY_CLASS
from torchstone.rules.recipe._toy import planning

LEAST = 2.0


def check(planning: Planning) -> Iterator[Finding]:
    """One finding where classes are dealt out alike and weighed apart as well."""
    plan = planning.plan
    weights = plan.get("loss.options.class_weights")
    sampler = plan.get("sampler.name")
    if sampler not in BY_CLASS or plan.get("sampler.options.power", 0.0) or not isinstance(weights, list):
        return
    present = [weight for weight in weights if weight > 0]
    ratio = max(present) / min(present) if present else 1.0
    if ratio >= LEAST:
        yield found(
            RULE, f"the sampler {sampler} makes classes alike, and loss.class_weights weigh them {ratio:,.1f} to 1",
            where=Where(field="loss.class_weights"), evidence={"ratio": ratio, "threshold": LEAST},
        )


RULE = Rule(
    code="PLN116",
    name="corrected_twice",
    severity="warning",
    summary="class weights and a balancing sampler at once",
    why="Rare classes count twice over: the model then finds them where they are not.",
    fix="Keep one of the two.",
    source="Buda et al. 2018, A systematic study of the class imbalance problem, section 2",
    check=check,
    trips=lambda: planning(sampler__name="class_balanced", loss__options__class_weights=[0.2, 1.8]),
    passes=lambda: planning(sampler__name="shuffled", loss__options__class_weights=[0.2, 1.8]),
    wrong_when="the weights say what a mistake costs, and not how rare a class is",
    threshold="weights that differ by a factor of 2; a convention of ours",
)
