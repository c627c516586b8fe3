"""REV119: a transformer is warmed up."""

from __future__ import annotations

from collections.abc import Sequence

from torchstone.core.review import Answer, Reviewed
from torchstone.core.rule import Rule
from torchstone.rules._watched import steps_by_optimizer
from torchstone.rules.review._ask import (
    is_transformer,
    ledger,
    left_out,
    not_seen,
    passed,
    plan_lines,
    refused,
    said_no,
    seen_row,
    unsure,
)
from torchstone.rules.review._toy import run as toy_run
from torchstone.rules.review._toy import trace


def warmup_for_transformers(run: Reviewed) -> Answer:
    """Whether the learning rate of a transformer rises over its first steps."""
    if run.kind != "run":
        return _watched(run)
    lines = plan_lines(run, "model.name", "schedule.name", "schedule.options.warmup")
    if not is_transformer(run):
        return left_out(f"{run.plan.get('model.name')} is no transformer", *lines)
    made = [(line, row) for line, row in run.of("step") if row.get("lr") is not None]
    rates = [row["lr"] for _, row in made]
    if not rates:
        return unsure("no step was made yet", *lines)
    if not _rises(rates):
        return refused(f"a transformer begins at its full rate, {rates[0]:g}", ledger(run, *made[0], "lr"), *lines)
    top = rates.index(max(rates))
    return passed(f"the rate rises from {rates[0]:.3g} to {rates[top]:.3g} over {top + 1:,} steps",
                  ledger(run, *made[0], f"lr {rates[0]:.3g}"), ledger(run, *made[top], f"lr {rates[top]:.3g}"), *lines)


def _rises(rates: Sequence[float]) -> bool:
    return rates[0] < max(rates)


def _watched(run: Reviewed) -> Answer:
    loops = [own for _, own in steps_by_optimizer(run.rows)]
    rates = [float(row["lr"]) for row in loops[0] if isinstance(row.get("lr"), (int, float))] if loops else []
    if not rates:
        return not_seen(run, "the learning rate of a step")
    first = seen_row(loops[0][0], f"lr {rates[0]:.3g}")
    if _rises(rates):
        return passed(f"the rate rises from {rates[0]:.3g} to {max(rates):.3g}", first)
    if is_transformer(run):
        return refused(f"a transformer begins at its full rate, {rates[0]:g}", first)
    return unsure("the rate never rises, and the name of the model does not say whether it is a transformer", first)


def _flat() -> list[dict[str, object]]:
    return [{**row, "lr": 1e-3} if "lr" in row else row for row in trace()]


RULE: Rule = Rule(
    code="REV119",
    name="warmup_for_transformers",
    severity="warning",
    summary="a transformer began at its full learning rate",
    why="The first updates of Adam are large and noisy; transformers often do not recover from them.",
    fix="Set schedule.warmup to 0.05 or 0.1 (a share of the run).",
    source="Xiong et al. 2020, On Layer Normalization in the Transformer Architecture",
    check=lambda run: said_no(RULE, warmup_for_transformers(run)),
    trips=lambda: toy_run({"model.name": "vit"}, trace=_flat()),
    passes=lambda: toy_run({"model.name": "vit"}),
    wrong_when="the rate is small enough from the start, as in some fine-tuning",
)
