"""RUN301: gradients are never cleared."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, first_streak, place_of, steps_by_optimizer, toy_loop

STREAK = 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer whose used gradients were still there, unchanged, at the next backward pass."""
    for index, own in steps_by_optimizer(rows):
        sick = first_streak(own, lambda row: row.get("is_cleared") is False, STREAK)
        if sick is not None:
            kind = next((row["kind"] for row in rows if row.get("optimizer") == index and "kind" in row), "optimizer")
            what = f"the gradients that {kind} used were still there at the next backward pass, {STREAK} times in a row"
            yield found(RULE, what, where=at(sick, place_of(rows, "optimizer", optimizer=index)),
                        evidence={"optimizer": index, "streak": STREAK})


RULE = Rule(
    code="RUN301",
    name="no_zero_grad",
    severity="error",
    summary="gradients pile up over the optimizer's steps",
    why="Each step follows the sum of all gradients since the start; the loss may still fall, and no curve shows it.",
    fix="Call optimizer.zero_grad() before each backward pass that begins a new step.",
    source="Stack Overflow 60335387; Jiang et al. 2025, TrainCheck (OSDI)",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {"is_cleared": False if number > 1 else None}),
    passes=toy_loop,
    wrong_when="gradients are meant to be carried over steps, as some optimizers of one's own do",
    threshold=f"{STREAK} steps in a row; a proof by the gradient's identity and version, not by its numbers",
    explains=("RUN305", "RUN320"),
)
