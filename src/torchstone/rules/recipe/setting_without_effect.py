"""PLN114: a setting of the user's that would be ignored."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.plan import Planning
from torchstone.core.rule import Rule, found
from torchstone.rules.recipe._toy import planning


def check(planning: Planning) -> Iterator[Finding]:
    """One finding per setting that the user gave and that cannot change anything in this run."""
    plan = planning.plan
    for field, sentence in _idle(planning):
        if field in plan.choices and plan.choices[field].origin == "user":
            written = field.replace(".options.", ".")
            yield found(RULE, sentence, where=Where(field=written), evidence={"value": plan[field]})


def _idle(planning: Planning) -> Iterator[tuple[str, str]]:
    plan, facts = planning.plan, planning.facts
    patience, epochs = plan["train.patience"], plan["train.epochs"]
    if patience and patience >= epochs:
        yield "train.patience", f"train.patience is {patience}, the run has {epochs} epochs: it never stops early"
    if plan["train.workers"] and not facts.get("is_heavy", True):
        yield "train.workers", (
            f"train.workers is {plan['train.workers']}, and batches come from memory or the picture cache: "
            "no worker is started"
        )
    most, norm = plan.get("clipping.options.most"), plan["train.clip_norm"]
    if plan.get("clipping.name") == "value" and most is not None and norm and most >= norm:
        yield "clipping.options.most", (
            f"clipping.most is {most:g}, and train.clip_norm {norm:g} lets no entry above {norm:g} come so far"
        )
    if plan.get("averaging.name") == "ema" and plan.get("averaging.options.decay") == 0:
        yield "averaging.options.decay", "averaging.decay is 0: the average is the weights themselves"
    if plan.get("parameters.layer_decay") == 1:
        yield "parameters.layer_decay", "parameters.layer_decay is 1: every layer learns at the same rate anyway"
    if plan.get("train.recompute") and facts.get("num_blocks") == 0:
        yield "train.recompute", f"train.recompute is true, and {plan['model.name']} has no blocks to compute anew"
    share = -(-plan["train.batch_size"] // facts["world"])
    if plan["train.accumulate"] > share:
        yield "train.accumulate", (
            f"train.accumulate is {plan['train.accumulate']}, and a rank has {share} examples a step: "
            "there are no more pieces than examples"
        )
    if plan.get("mix.name") == "mixup" and plan.get("train.batch_size") == 1:
        yield "mix.name", "train.batch_size is 1: there is no other picture to mix with"


RULE = Rule(
    code="PLN114",
    name="setting_without_effect",
    severity="error",
    summary="a setting would be ignored",
    why="You would believe that it was tried, and it was not.",
    fix="Remove the setting, or change what keeps it from acting.",
    source="a house rule: what you set acts, or you are told",
    check=check,
    trips=lambda: planning(train__patience=10, schedule__name="constant"),
    passes=lambda: planning(train__patience=9, schedule__name="constant"),
    wrong_when="one recipe serves many machines or data sets: ignore the rule there (rules.ignore)",
)
