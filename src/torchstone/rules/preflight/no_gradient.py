"""RUN705: parameters that are to be trained and that the loss does not reach."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import some
from torchstone.rules.preflight._rows import Rows, measured, toy_rows
from torchstone.rules.protocol.silent_parameters import SHARE


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where parameters got no gradient in three passes, or all gradients are 0."""
    for row in measured(rows, "gradients"):
        if row["all_zero"]:
            yield found(RULE, f"the gradients of all {row['num']} parameters are exactly 0", severity="error",
                        evidence={"num": row["num"], "all_zero": True})
        if not row["missing"]:
            continue
        share = row["missing_weights"] / max(row["weights"], 1)
        what = (f"{len(row['missing'])} of {row['num']} parameters ({share:.0%} of the weights) got no gradient in "
                f"{row['passes']} passes: {some(row['missing'])}")
        yield found(RULE, what, where=Where(layer=row["missing"][0]),
                    severity="error" if share >= SHARE else "warning",
                    evidence={"missing": row["missing"][:20], "num": len(row["missing"]), "share": share,
                              "threshold": SHARE})


RULE = Rule(
    code="RUN705",
    name="no_gradient",
    severity="error",
    summary="parameters that are to be trained get no gradient",
    why="That part of the model stays as it was made: .detach() or no_grad in forward, or a branch that is not used.",
    fix="Look for .detach(), .data, torch.no_grad() or numpy in the forward pass before these layers; freeze them with "
        "requires_grad_(False) if they are not meant to learn.",
    source="LoRA#26; open-unlearning#178",
    check=check,
    trips=lambda: toy_rows("gradients", missing=["body.weight", "body.bias"], missing_weights=4000, passes=3),
    passes=toy_rows,
    wrong_when="experts or branches that this batch does not need: those of few weights are a warning",
    threshold=f"three passes; an error from {SHARE:.0%} of the weights",
    explains=("RUN306",),
)
