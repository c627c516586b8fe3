"""PLN103: a transformer without warm-up."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.parts.choices.family import family_of
from torchstone.rules.recipe._toy import TEXT, planning


def check(planning: Planning) -> Iterator[Finding]:
    """One finding where a transformer starts at its full rate."""
    plan = planning.plan
    is_transformer = family_of(str(plan["model.name"]), planning.task.modality) == "transformer"
    if is_transformer and not plan.get("schedule.options.warmup", 0):
        yield found(RULE, f"{plan['model.name']} starts at its full rate", where=Where(field="schedule.warmup"),
                    evidence={"warmup": 0})


RULE = Rule(
    code="PLN103",
    name="no_warmup",
    severity="warning",
    summary="a transformer starts at its full learning rate",
    why="The first updates of Adam are large and noisy; transformers often do not recover from them.",
    fix="Set schedule.warmup to 0.05 or 0.1 (a share of the run).",
    source="Xiong et al. 2020, On Layer Normalization in the Transformer Architecture",
    check=check,
    trips=lambda: planning(TEXT, model__name="text_transformer", schedule__options__warmup=0),
    passes=lambda: planning(TEXT, model__name="text_transformer"),
    wrong_when="the rate is small enough from the start, as in some fine-tuning",
)
