"""RUN316: a loss scaler with bfloat16."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, first_streak, steps_by_optimizer, toy_loop

STREAK = 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer with three such steps in a row."""
    for index, own in steps_by_optimizer(rows):
        sick = first_streak(own, lambda row: row.get("autocast") == "bfloat16" and bool(row.get("is_scaled")), STREAK)
        if sick is not None:
            what = "the loss is scaled although the forward pass runs in bfloat16, which has the range of float32"
            yield found(RULE, what, where=at(sick), evidence={"optimizer": index, "autocast": "bfloat16"})


RULE = Rule(
    code="RUN316",
    name="scaler_with_bf16",
    severity="warning",
    summary="a loss scaler that bfloat16 does not need",
    why="It costs a look at all gradients each step, and skips steps when it tries a larger scale.",
    fix="Leave the GradScaler out, or make it with enabled=False.",
    source="Kalamkar et al. 2019, A Study of BFLOAT16 for Deep Learning Training",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {"autocast": "bfloat16", "is_scaled": True}),
    passes=lambda: toy_loop(change=lambda number, row: {"autocast": "bfloat16"}),
    threshold=f"{STREAK} steps in a row",
)
