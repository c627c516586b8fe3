"""PLN113: a setting that reads validation where there is none."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.rules.recipe._toy import planning


def check(planning: Planning) -> Iterator[Finding]:
    """One finding per setting that needs validation examples, where there are none."""
    plan, num = planning.plan, planning.facts.get("num_validation", 0)
    if num:
        return
    rest = f"; {planning.facts['num_test']:,} test examples stay for the end" if planning.facts.get("num_test") else ""
    if plan["train.patience"]:
        yield found(RULE, f"train.patience is {plan['train.patience']}, and there is no validation example{rest}",
                    where=Where(field="train.patience"), evidence={"patience": plan["train.patience"]})
    if plan["schedule.name"] == "plateau":
        yield found(RULE, f"the schedule plateau waits for validations, and there is no validation example{rest}",
                    where=Where(field="schedule"), evidence={"schedule": "plateau"})


RULE = Rule(
    code="PLN113",
    name="nothing_to_select_by",
    severity="error",
    summary="early stopping or plateau without validation examples",
    why="The setting would have no effect; and the test part must not choose anything, or its score says nothing.",
    fix="Give validation a share: data.split={train: 0.7, validation: 0.15, test: 0.15}.",
    source="Hastie et al. 2009, The Elements of Statistical Learning, section 7.2",
    check=check,
    trips=lambda: planning(facts={"num_validation": 0, "num_test": 100}, train__patience=3),
    passes=lambda: planning(facts={"num_validation": 100, "num_test": 100}, train__patience=3),
)
