"""RUN314: gradients are clipped while they are still scaled."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, first_streak, steps_by_optimizer, toy_loop


def is_sick(row: Row) -> bool:
    """Whether a scaled loss went backward and the gradients were clipped before unscale_."""
    return bool(row.get("is_scaled")) and row.get("clip") is not None and row.get("is_clipped_scaled") is True


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer with two such steps in a row."""
    for index, own in steps_by_optimizer(rows):
        sick = first_streak(own, is_sick, 2)
        if sick is not None:
            what = "gradients are clipped before scaler.unscale_: the threshold is applied to gradients times the scale"
            yield found(RULE, what, where=at(sick), evidence={"optimizer": index})


RULE = Rule(
    code="RUN314",
    name="clip_before_unscale",
    severity="error",
    summary="clipping sees gradients that are multiplied by the loss scale",
    why="With a scale of 65,536 nearly every step is clipped to almost nothing; the effective rate follows the scale.",
    fix="Call scaler.unscale_(optimizer) before clipping.",
    source="torch 2.14 documentation, Automatic Mixed Precision examples; pytorch/examples#1196",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {"is_scaled": True, "clip": "norm", "is_clipped_scaled": True}),
    passes=lambda: toy_loop(change=lambda number, row: {"is_scaled": True, "clip": "norm", "is_clipped_scaled": False}),
    threshold="2 steps in a row",
)
