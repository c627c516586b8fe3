"""RUN601: the loss is no number any more."""

from __future__ import annotations

import math
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import is_number
from torchstone.rules._watched import Row, Rows, at, of, place_of, toy_input, toy_loop

STREAK, GROWN, LARGE_UPDATE = 2, 10.0, 0.5


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the loss of two steps in a row is NaN or infinite, with the likely cause."""
    steps = [row for row in of(rows, "step") if row.get("loss") is not None]
    bad = [index for index, row in enumerate(steps) if not math.isfinite(row["loss"])]
    first = next((index for index in bad if index + 1 in bad or index + 1 == len(steps)), None)
    if first is None or len(bad) < min(STREAK, len(steps)):
        return
    row, cause, fix = steps[first], *_cause(rows, steps[: first + 1])
    yield found(RULE, f"the loss is {row['loss']} from step {row['step']} on: {cause}",
                where=at(row, place_of(rows, "loss", has_grad=True)), fix=fix,
                evidence={"first": row["step"], "before": [step["loss"] for step in steps[max(0, first - 3) : first]]})


def _cause(rows: Rows, before: list[Row]) -> tuple[str, str]:
    """What went before it: broken inputs, steps that were too large, overflow in float16, or nothing that was seen."""
    if any(row.get("num_bad") for row in of(rows, "input")):
        return "an input held NaN or infinity", "Find the examples with torch.isfinite, and mend or drop them."
    losses = [row["loss"] for row in before if math.isfinite(row["loss"])]
    ratios = [row["update_ratio"] for row in before if is_number(row.get("update_ratio"))]
    if (losses and losses[-1] > GROWN * abs(losses[0])) or any(ratio > LARGE_UPDATE for ratio in ratios):
        worst = f"; an update was {max(ratios):.2g} times the weights" if ratios and max(ratios) > LARGE_UPDATE else ""
        return f"it blew up{worst}", "Lower the learning rate, tenfold for a start; warm up, or clip gradients."
    if before[-1].get("autocast") == "float16":
        return "the forward pass runs in float16, whose largest number is 65,504", "Use bfloat16 or a GradScaler."
    return "nothing that was seen explains it", (
        "Look for a logarithm, a root or a division of zero in the loss (add an epsilon), and for broken inputs."
    )


RULE = Rule(
    code="RUN601",
    name="loss_not_finite",
    severity="error",
    summary="the loss is NaN or infinite",
    why="Every weight that such a gradient reaches is lost; what was learnt before is gone with the first step.",
    fix="Look at the step before: inputs, learning rate, logarithms of zero.",
    source="trl#6702; torch 2.14 documentation, Automatic Mixed Precision",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {"loss": math.inf} if number > 20 else {}, more=[toy_input()]),
    passes=toy_loop,
    threshold=f"{STREAK} steps in a row; blown up: a loss {GROWN:g} times the first, or updates above {LARGE_UPDATE}",
    explains=("RUN602", "RUN604", "RUN605", "RUN303", "RUN503"),
)
