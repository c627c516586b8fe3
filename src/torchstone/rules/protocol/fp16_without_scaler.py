"""RUN315: fp16 without a loss scaler."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, first_streak, steps_by_optimizer, toy_loop

STREAK = 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer with three steps in a row in fp16 whose loss was not scaled."""
    for index, own in steps_by_optimizer(rows):
        sick = first_streak(own, lambda row: row.get("autocast") == "float16" and not row.get("is_scaled"), STREAK)
        if sick is not None:
            what = f"the forward pass runs in float16 and the loss is not scaled, {STREAK} steps in a row"
            yield found(RULE, what, where=at(sick), evidence={"optimizer": index, "autocast": "float16"})


RULE = Rule(
    code="RUN315",
    name="fp16_without_scaler",
    severity="error",
    summary="float16 without a loss scaler",
    why="Gradients below 6e-8 become zero in float16: small ones vanish, and a part of the model stops learning.",
    fix="Use torch.amp.GradScaler, or dtype=torch.bfloat16 where the device has it.",
    source="Micikevicius et al. 2018, Mixed Precision Training",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {"autocast": "float16"}),
    passes=lambda: toy_loop(change=lambda number, row: {"autocast": "float16", "is_scaled": True}),
    wrong_when="the loss is scaled by hand: then say so with --ignore RUN315",
    threshold=f"{STREAK} steps in a row",
)
