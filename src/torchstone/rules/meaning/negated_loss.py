"""RUN407: a loss that is maximised."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, first_streak, of, place_of, steps_by_optimizer, toy_loop, toy_loss

STREAK = 8
LOSSES = (
    "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "binary_cross_entropy_with_logits", "binary_cross_entropy",
)  # fmt: skip


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where backward starts at the negative of a loss function's value, step after step."""
    calls = [row for row in of(rows, "loss") if row["has_grad"] and row["function"] in LOSSES]
    if not calls or len(list(steps_by_optimizer(rows))) > 1:
        return
    for _, own in steps_by_optimizer(rows):
        sick = first_streak(own, is_sick, STREAK)
        values = [row["value"] for row in calls if row.get("value") is not None]
        if sick is not None and values and min(values) > 0:
            what = f"backward starts at minus {calls[0]['function']}: the optimizer makes the loss larger"
            yield found(RULE, what, where=at(sick, place_of(rows, "loss", has_grad=True)),
                        evidence={"value": values[0], "root": sick.get("loss")})


def is_sick(row: Row) -> bool:
    """Whether the root of the pass is a negation, with a value below zero."""
    kinds = row.get("kinds") or []
    return bool(kinds) and all(str(kind).startswith("Neg") for kind in kinds) and (row.get("loss") or 0) < 0


RULE = Rule(
    code="RUN407",
    name="negated_loss",
    severity="warning",
    summary="the sign of the loss is turned around",
    why="The optimizer goes uphill: the model learns to be wrong.",
    fix="Leave the minus out.",
    source="torch 2.14 documentation, Optimizing model parameters",
    check=check,
    trips=lambda: toy_loop(
        change=lambda number, row: {"kinds": ["NegBackward0"], "loss": -1.4}, more=[toy_loss(value=1.4)]),
    passes=lambda: toy_loop(more=[toy_loss(value=1.4)]),
    wrong_when="forgetting is the aim, or an adversary plays against the model",
    threshold=f"{STREAK} steps in a row, one optimizer",
    confidence="likely",
)
