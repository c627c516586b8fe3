"""REV108: AdamW over Adam for transformers."""

from __future__ import annotations

from typing import Any

from torchstone.core.review import Answer, Reviewed
from torchstone.core.rule import Rule
from torchstone.rules._watched import of
from torchstone.rules.review._ask import (
    is_transformer,
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

# Classes of torch 2.14 whose weight decay goes through the gradient, unless decoupled_weight_decay is set.
COUPLED = ("Adam", "NAdam", "RAdam", "Adamax")
SAME = "no weight decays: Adam and AdamW are then the same"


def adamw_for_transformers(run: Reviewed) -> Answer:
    """Whether a transformer learns with decay apart from the gradient: AdamW or its like, not Adam."""
    if run.kind != "run":
        return _watched(run)
    name = str(run.plan.get("optimizer.options.base") or run.plan.get("optimizer.name"))
    lines = plan_lines(run, "model.name", "optimizer.name", "optimizer.options.base", "optimizer.options.weight_decay")
    if not is_transformer(run):
        return left_out(f"{run.plan.get('model.name')} is no transformer", *lines)
    if name != "adam":
        return passed(f"the transformer learns with {name}", *lines)
    if not run.plan.get("optimizer.options.weight_decay"):
        return passed(f"the transformer learns with adam; {SAME}", *lines)
    return refused("a transformer learns with adam, whose decay goes through the gradient", *lines)


def _watched(run: Reviewed) -> Answer:
    seen = of(run.rows, "optimizer")
    if not seen:
        return not_seen(run, "an optimizer")
    kinds = ", ".join(str(row["kind"]) for row in seen)
    proofs = [seen_row(row, f"optimizer {row['kind']}, weight_decay {_decays(row)}") for row in seen[:4]]
    adams = [row for row in seen if row["kind"] in COUPLED and not _is_apart(row)]
    if not adams:
        return passed(f"no Adam: the optimizer is {kinds}", *proofs)
    if not any(decay for row in adams for decay in _decays(row)):
        return passed(SAME, *proofs)
    if is_transformer(run):
        return refused(f"a transformer learns with {adams[0]['kind']}, whose decay goes through the gradient", *proofs)
    return unsure(f"{adams[0]['kind']} with weight decay: the model's name does not say whether it is a transformer",
                  *proofs)  # fmt: skip


def _is_apart(row: Any) -> bool:
    return all(group.get("decoupled_weight_decay") for group in row.get("groups") or [{}])


def _decays(row: Any) -> list[float]:
    return [float(group.get("weight_decay") or 0.0) for group in row.get("groups") or []]


RULE: Rule = Rule(
    code="REV108",
    name="adamw_for_transformers",
    severity="warning",
    summary="a transformer learns with Adam instead of AdamW",
    why="Decay that goes through Adam's gradient is divided by its second moment: weights with large gradients hardly "
        "decay.",
    fix="Set optimizer to adamw.",
    source="Loshchilov & Hutter 2019, Decoupled Weight Decay Regularization",
    check=lambda run: said_no(RULE, adamw_for_transformers(run)),
    trips=lambda: toy_run({"model.name": "vit", "optimizer.name": "adam", "optimizer.options.weight_decay": 0.01}),
    passes=lambda: toy_run({"model.name": "vit", "optimizer.name": "adamw"}),
)  # fmt: skip
