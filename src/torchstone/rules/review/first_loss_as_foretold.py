"""REV114: the first loss is what theory says."""

from __future__ import annotations

import math

from torchstone.core.review import Answer, Reviewed
from torchstone.core.rule import Rule
from torchstone.rules._watched import of
from torchstone.rules.preflight.first_loss_unexpected import SHARE
from torchstone.rules.review._ask import (
    finding_proofs,
    ledger,
    left_out,
    not_seen,
    passed,
    refused,
    said_no,
    seen_row,
    unsure,
)
from torchstone.rules.review._toy import finding, trace
from torchstone.rules.review._toy import run as toy_run

CODES = ("RUN408", "RUN703", "RUN704")
TELLS = "first loss "


def first_loss_as_foretold(run: Reviewed) -> Answer:
    """Whether the loss of untrained weights was that of outputs that know nothing."""
    wrong = run.found(*CODES)
    if wrong:
        return refused("the first loss is not that of a model that knows nothing", *finding_proofs(wrong))
    if run.kind != "run":
        return _watched(run)
    told = [(line, row) for line, row in run.of("note") if str(row.get("text", "")).startswith(TELLS)]
    if not told:
        return unsure("the first batch was not looked at before the run (preflight)")
    text = str(told[0][1]["text"])
    proof = ledger(run, *told[0], text)
    if text.endswith("not foretold"):
        return left_out("training began from given weights: their first loss cannot be foretold", proof)
    if "RUN703" in run.asked and text.endswith("as expected"):
        return passed(text, proof)
    return unsure(f"it was not judged: {text}", proof)


def _watched(run: Reviewed) -> Answer:
    row = next((row for row in of(run.rows, "loss") if row.get("has_grad") and row.get("step") == 0
                and row.get("function") == "cross_entropy" and row.get("value") is not None), None)  # fmt: skip
    if row is None or len(row["input_shape"]) < 2 or row.get("std") is None:
        return not_seen(run, "the first call of a cross-entropy")
    guess = math.log(max(row["input_shape"][1], 2))
    expected = guess + row["std"] ** 2 / 2  # the second-order term of log-sum-exp
    said = (f"the first loss is {row['value']:.3g}; log {row['input_shape'][1]} is {guess:.3g}, {expected:.3g} with "
            f"outputs that spread by {row['std']:.2g}")
    if guess * (1 - SHARE) <= row["value"] <= expected * (1 + SHARE):
        return passed(said, seen_row(row, f"value {row['value']:.4g}"))
    return unsure(f"{said}: given weights, or a fault", seen_row(row, f"value {row['value']:.4g}"))


def _noted(text: str) -> list[dict[str, object]]:
    return trace({"event": "note", "step": 0, "text": text, "by": "doctor"})


RULE: Rule = Rule(
    code="REV114",
    name="first_loss_as_foretold",
    severity="warning",
    summary="the first loss is not that of a model that knows nothing",
    why="Labels, loss, last layer or scale of the inputs are then not what one thinks, before anything is learnt.",
    fix="See what torchstone preflight says of the first batch.",
    source="Karpathy 2019, A Recipe for Training Neural Networks (verify loss @ init)",
    check=lambda run: said_no(RULE, first_loss_as_foretold(run)),
    trips=lambda: toy_run(findings=[finding("RUN703", "the first loss is 9.1")]),
    passes=lambda: toy_run(trace=_noted("first loss 0.7, log 2 = 0.693: as expected"), asked={"RUN703": "the batch"}),
    threshold=f"that of RUN703 in our own runs; {SHARE:.0%} around log K in watched ones",
)
