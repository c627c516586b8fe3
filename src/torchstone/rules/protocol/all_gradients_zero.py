"""RUN303: every gradient is exactly zero."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, first_streak, place_of, steps_by_optimizer, toy_loop

STREAK = 2


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer whose gradients' norm was 0.0 at two samples in a row."""
    for index, own in steps_by_optimizer(rows):
        sampled = [row for row in own if row.get("grad_norm") is not None]
        sick = first_streak(sampled, lambda row: row["grad_norm"] == 0.0, STREAK)
        if sick is not None:
            what = f"all {sick.get('num_grads', '')} gradients are exactly 0 at {STREAK} sampled steps in a row"
            yield found(RULE, what, where=at(sick, place_of(rows, "optimizer", optimizer=index)),
                        evidence={"optimizer": index, "grad_norm": 0.0, "samples": STREAK})


RULE = Rule(
    code="RUN303",
    name="all_gradients_zero",
    severity="error",
    summary="the backward pass brings nothing but zeros",
    why="Nothing is learnt: the loss does not depend on the weights (clamped, one class only, dead units), or "
        "gradients were zeroed between backward and step.",
    fix="Look at what lies between the model's output and the loss (clamp, argmax, round), and where zero_grad stands.",
    source="Amazon SageMaker Debugger, rule AllZero; Ben Braiek & Khomh 2023, TheDeepChecker",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {"grad_norm": 0.0 if number % 10 == 1 else None}),
    passes=toy_loop,
    threshold=f"exactly 0 at {STREAK} samples in a row, one each 10 steps",
    explains=("RUN338",),
)
