"""REV116: activation checkpointing was thought of where memory is short."""

from __future__ import annotations

from torchstone.core.review import Answer, Reviewed
from torchstone.core.rule import Rule
from torchstone.rules.review._ask import (
    finding_proofs,
    left_out,
    not_seen,
    passed,
    plan_lines,
    refused,
    said_no,
    unsure,
)
from torchstone.rules.review._toy import finding
from torchstone.rules.review._toy import run as toy_run

FIELDS = ("train.recompute", "train.accumulate", "train.batch_size")


def recompute_considered(run: Reviewed) -> Answer:
    """Whether activations are computed anew where memory is the bottleneck, or the plan says why not."""
    if run.kind != "run":
        return not_seen(run, "how much memory of the device was taken, and of how much")
    lines = plan_lines(run, *FIELDS)
    if "train.recompute" not in run.plan.choices:
        return unsure("the plan says nothing about it", *lines)
    choice = run.plan.choices["train.recompute"]
    if choice.value:
        return passed(f"activations are computed anew: {choice.reason}", *lines)
    short = run.found("PLN121")
    if short:
        proofs = (*finding_proofs(short), *lines)
        return refused("the model does not fit into the memory, and activations are kept", *proofs)
    if int(run.plan.get("train.accumulate") or 1) == 1:
        return left_out(f"memory is not the bottleneck: a step is one batch; {choice.reason}", *lines)
    if choice.origin == "user":
        return unsure("a batch is cut into pieces for want of memory, and recompute was turned off by hand", *lines)
    return passed(f"it was considered, and is not needed: {choice.reason}", *lines)


RULE: Rule = Rule(
    code="REV116",
    name="recompute_considered",
    severity="warning",
    summary="memory is short, and activations are kept",
    why="Computing blocks anew costs about a third more time and often makes room for several times the batch.",
    fix="Set train.recompute to true.",
    source="Chen et al. 2016, Training Deep Nets with Sublinear Memory Cost",
    check=lambda run: said_no(RULE, recompute_considered(run)),
    trips=lambda: toy_run(findings=[finding("PLN121")]),
    passes=lambda: toy_run({"train.recompute": True}),
)
