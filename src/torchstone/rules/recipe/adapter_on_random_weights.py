"""PLN132: an adapter beside weights that were never trained."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.rules.recipe._toy import TEXT, planning


def check(planning: Planning) -> Iterator[Finding]:
    """One finding where an adapter freezes a model that starts from random weights."""
    plan, adapter = planning.plan, planning.plan.get("adapter.name")
    if adapter and not plan.get("model.options.weights"):
        yield found(
            RULE, f"{adapter} freezes all of {plan['model.name']} but its head and the adapters, and no trained "
            "weights are given: what it freezes is random", where=Where(field="adapter"),
            evidence={"adapter": adapter, "weights": None},
        )  # fmt: skip


RULE = Rule(
    code="PLN132",
    name="adapter_on_random_weights",
    severity="warning",
    summary="an adapter is put beside weights that were never trained",
    why="An adapter is a small change to what a model knows. A model with random weights knows nothing, and the "
    "adapter keeps it so.",
    fix="Give trained weights (model.weights, or model=text_pretrained with model.folder), or leave adapter out.",
    source="Hu et al. 2022, LoRA, section 4.1: the update is learnt beside frozen pretrained weights",
    check=check,
    trips=lambda: planning(TEXT, model__name="text_transformer", adapter__name="lora"),
    passes=lambda: planning(TEXT, model__name="text_transformer", adapter__name="lora",
                            model__options__weights="run-1"),
    wrong_when="a model part of your own brings its trained weights along without saying so",
)  # fmt: skip
