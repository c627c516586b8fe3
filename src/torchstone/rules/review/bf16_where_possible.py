"""REV107: bf16 where the device has it."""

from __future__ import annotations

from torchstone.core.review import Answer, Reviewed
from torchstone.core.rule import Rule
from torchstone.rules.review._ask import (
    file_proof,
    left_out,
    not_seen,
    passed,
    plan_lines,
    refused,
    said_no,
    seen_row,
    steps,
    unsure,
)
from torchstone.rules.review._toy import run as toy_run


def bf16_where_possible(run: Reviewed) -> Answer:
    """Whether half precision is bf16 on a device that has units for it, and fp32 was a choice with a reason."""
    if run.kind != "run":
        return _watched(run)
    facts, precision = run.environment, run.plan.get("train.precision")
    lines = plan_lines(run, "train.precision")
    if "environment.json" in run.papers:
        device = f"{facts.get('accelerator') or 'no accelerator'}, has_bf16 {facts.get('has_bf16')}"
        lines = (*lines, file_proof(run, "environment.json", run.papers["environment.json"], f"{device}; SHA-256"))
    if "has_accelerator" not in facts:
        return unsure("environment.json does not say which device trained the run", *lines)
    if precision == "bf16":
        return passed("the run was trained in bf16", *lines)
    if not facts["has_accelerator"]:
        return left_out("the run was trained on a CPU", *lines)
    if not facts.get("has_bf16"):
        return left_out("the device has no units for bf16", *lines)
    if precision == "fp16":
        return refused("the device has bf16, and the run was trained in fp16, which needs a loss scale", *lines)
    if run.plan.choices["train.precision"].origin == "user":
        return unsure("fp32 was asked for by hand on a device that has bf16", *lines)
    return passed(f"fp32 was chosen with a reason: {run.plan.choices['train.precision'].reason}", *lines)


def _watched(run: Reviewed) -> Answer:
    made = steps(run)
    kinds = sorted({str(row["autocast"]) for row in made if row.get("autocast")})
    if kinds == ["bfloat16"]:
        return passed("forward passes ran under autocast in bfloat16", seen_row(made[-1], "autocast bfloat16"))
    what = f"autocast ran in {', '.join(kinds)}" if kinds else "autocast was not seen" if made else ""
    if not what:
        return not_seen(run, "a step")
    return unsure(f"{what}; whether the device has bf16 is not in what was watched")


RULE: Rule = Rule(
    code="REV107",
    name="bf16_where_possible",
    severity="warning",
    summary="fp16 on a device that has bf16",
    why="bf16 has the range of fp32: no loss scale, no skipped steps, no overflow.",
    fix="Set train.precision to bf16.",
    source="Kalamkar et al. 2019, A Study of BFLOAT16 for Deep Learning Training",
    check=lambda run: said_no(RULE, bf16_where_possible(run)),
    trips=lambda: toy_run({"train.precision": "fp16"}),
    passes=lambda: toy_run({"train.precision": "bf16"}),
    wrong_when="a model was trained in fp16 before and its activations are known to fit",
)
