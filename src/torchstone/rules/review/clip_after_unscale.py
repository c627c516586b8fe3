"""REV105: gradients are clipped at their true length."""

from __future__ import annotations

from torchstone.core.review import Answer, Reviewed
from torchstone.core.rule import Rule
from torchstone.rules._watched import toy_loop
from torchstone.rules.review._ask import (
    A_STEP,
    by_the_loop,
    ledger,
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
from torchstone.rules.review._toy import watched

# A norm in the arithmetic of float32 may end that much above its limit.
ROUNDING = 1e-3


def clip_after_unscale(run: Reviewed) -> Answer:
    """Whether scaled gradients were unscaled before they were clipped."""
    if run.kind == "run":
        return _own(run)
    made = steps(run)
    if not made:
        return not_seen(run, A_STEP)
    scaled = [row for row in made if row.get("is_scaled")]
    if not scaled:
        return left_out(f"no loss was scaled at {len(made):,} steps", seen_row(made[-1], "is_scaled is false"))
    clipped = [row for row in scaled if row.get("clip") is not None]
    if not clipped:
        return left_out("gradients are not clipped", seen_row(scaled[-1], "clip is null"))
    sick = [row for row in clipped if row.get("is_clipped_scaled") is True]
    if len(sick) >= 2:
        return refused(f"gradients were clipped before unscale_ at {len(sick):,} of {len(clipped):,} steps",
                       seen_row(sick[0], "is_clipped_scaled is true"))
    if sick or not all(row.get("is_clipped_scaled") is False for row in clipped):
        return unsure(f"it was not seen at all of {len(clipped):,} steps that clip")
    return passed(f"gradients were unscaled before they were clipped at {len(clipped):,} steps",
                  seen_row(clipped[-1], "is_clipped_scaled is false"))


def _own(run: Reviewed) -> Answer:
    lines = plan_lines(run, "train.precision", "train.clip_norm", "clipping.name")
    if run.plan.get("train.precision") != "fp16":
        return left_out("no loss is scaled: that is for fp16 alone", *lines)
    limit = float(run.plan.get("train.clip_norm") or 0.0)
    if not limit and not run.plan.get("clipping.name"):
        return left_out("gradients are not clipped", *lines)
    norms = [(line, row) for line, row in run.of("step") if row.get("clipped_norm") is not None]
    over = [(line, row) for line, row in norms if limit and not row.get("skipped")
            and row["clipped_norm"] > (1 + ROUNDING) * limit]  # fmt: skip
    if over:
        return refused(f"the norm after clipping to {limit:g} is {over[0][1]['clipped_norm']:.4g}",
                       ledger(run, *over[0], "clipped_norm"), *lines)
    shown = [ledger(run, *norms[-1], f"grad_norm {norms[-1][1].get('grad_norm')}, clipped_norm "
                                     f"{norms[-1][1]['clipped_norm']}")] if norms else []  # fmt: skip
    return by_the_loop(run, "the loop unscales, measures the norm, and then clips", "step.py",
                       "scaler.unscale_(job.optimizer)", *shown, *lines)


RULE: Rule = Rule(
    code="REV105",
    name="clip_after_unscale",
    severity="error",
    summary="gradients were clipped while they were still scaled",
    why="The limit is then meant for gradients that are some 65,536 times as long: nearly every step is cut to 0.",
    fix="Call scaler.unscale_(optimizer) before clip_grad_norm_.",
    source="torch 2.14 documentation, Automatic mixed precision examples, Gradient clipping",
    check=lambda run: said_no(RULE, clip_after_unscale(run)),
    trips=lambda: watched(toy_loop(
        change=lambda number, row: {"is_scaled": True, "clip": 1.0, "is_clipped_scaled": True})),
    passes=lambda: watched(toy_loop(
        change=lambda number, row: {"is_scaled": True, "clip": 1.0, "is_clipped_scaled": False})),
)
