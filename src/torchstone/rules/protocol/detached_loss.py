"""RUN304: a backward pass from a number that no weight made."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, first_streak, place_of, steps_by_optimizer, toy_loop

STREAK = 2


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the loss was a leaf at two steps in a row."""
    for index, own in steps_by_optimizer(rows):
        sick = first_streak(own, lambda row: row.get("leaf_backwards", 0) > 0, STREAK)
        if sick is not None:
            what = f"backward started at a tensor without a history, {STREAK} steps in a row: no weight gets a gradient"
            yield found(RULE, what, where=at(sick, place_of(rows, "optimizer", optimizer=index)),
                        evidence={"optimizer": index, "streak": STREAK})


RULE = Rule(
    code="RUN304",
    name="detached_loss",
    severity="error",
    summary="the loss is cut off from the model",
    why="A tensor made with .item(), torch.tensor(…), numpy or .detach() has no graph; requires_grad on it only "
        "silences the error.",
    fix="Compute the loss from the model's output with torch operations, without .item(), .data or torch.tensor.",
    source="torch 2.14 documentation, Autograd mechanics",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {"leaf_backwards": 1, "num_grads": 0}),
    passes=toy_loop,
    wrong_when="the trained tensor itself is the root, as in an optimisation over an input",
    threshold=f"{STREAK} steps in a row",
    explains=("RUN302", "RUN306", "RUN303"),
)
