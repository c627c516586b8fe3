"""REV118: the loss fits the task."""

from __future__ import annotations

from torchstone.core.review import Answer, Reviewed
from torchstone.core.rule import Rule
from torchstone.rules._watched import of
from torchstone.rules.review._ask import (
    finding_proofs,
    not_seen,
    passed,
    plan_lines,
    refused,
    said_no,
    seen_row,
    unsure,
)
from torchstone.rules.review._toy import finding
from torchstone.rules.review._toy import run as toy_run

PLANNED = ("PLN101", "PLN117", "PLN120")
SEEN = ("RUN401", "RUN402", "RUN403", "RUN404", "RUN405", "RUN406", "RUN412", "RUN413", "RUN415", "RUN418", "RUN419")


def loss_fits_the_task(run: Reviewed) -> Answer:
    """Whether the loss is made for such targets and such outputs, by the rules that were asked about it."""
    lines = plan_lines(run, "loss.name")
    wrong = run.found(*PLANNED, *SEEN)
    if wrong:
        return refused("the loss does not fit", *finding_proofs(wrong), *lines)
    asked = [code for code in (*PLANNED, *SEEN) if code in run.asked]
    if run.kind == "run":
        if "PLN101" not in asked:
            return unsure("PLN101, which judges it, was not asked", *lines)
        return passed(f"{run.plan.get('loss.name')} for {run.data.get('task')}: nothing found by {', '.join(asked)}",
                      *lines)
    losses = [row for row in of(run.rows, "loss") if row.get("has_grad")]
    if not losses:
        return not_seen(run, "a call of a loss function of torch")
    if not asked:
        return unsure("no rule about losses was asked")
    row = losses[0]
    said = f"{row['function']} of {row.get('input_shape')} and {row.get('target_shape')}"
    return passed(f"{said}: nothing found by {', '.join(asked)}", seen_row(row, said))


RULE: Rule = Rule(
    code="REV118",
    name="loss_fits_the_task",
    severity="error",
    summary="the loss is not made for such targets or outputs",
    why="It measures something else than the task asks for: training goes on and the model is wrong.",
    fix="Use the loss that the plan proposes, on what the model puts out before any softmax or sigmoid.",
    source="Goodfellow et al. 2016, Deep Learning, 6.2.2",
    check=lambda run: said_no(RULE, loss_fits_the_task(run)),
    trips=lambda: toy_run(findings=[finding("PLN101")]),
    passes=lambda: toy_run(asked={"PLN101": "the plan"}),
)
