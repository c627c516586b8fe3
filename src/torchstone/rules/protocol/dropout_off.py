"""RUN353: dropout layers that drop nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, place_of, toy_loop, toy_model

STEPS, PASSES = 20, 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per model whose dropout was turned off and stayed off, or is 0 over three passes through the data."""
    last = max((row["step"] for row in of(rows, "step")), default=0)
    most = max((row["number"] for row in of(rows, "pass") if row["backwards"]), default=0)
    for row in of(rows, "model"):
        seen = row.get("dropout")
        if not seen:
            continue
        what = _what(row, seen, last, most)
        if what:
            yield found(RULE, what, where=at({"step": seen["off_at"] or 0}, place_of(rows, "optimizer")),
                        evidence={**seen, "passes": most})


def _what(row: Row, seen: Row, last: int, most: int) -> str | None:
    if seen["off_at"] is not None and seen["is_steady"] and last - seen["off_at"] >= STEPS:
        return (f"dropout of {row['class']} was {seen['first']:g} up to step {seen['off_at']}, and has been 0 in "
                "training ever since")
    if seen["first"] == seen["rate"] == 0 and seen["is_steady"] and most >= PASSES:
        return f"all {seen['layers']} dropout layers of {row['class']} have p=0 over {most} passes through the data"
    return None


def _toy(**different: Any) -> list[dict[str, Any]]:
    seen = {"layers": 2, "first": 0.1, "rate": 0.1, "is_steady": True, "off_at": None, **different}
    return [toy_model(dropout=seen), *toy_loop(60)[1:]]


RULE = Rule(
    code="RUN353",
    name="dropout_off",
    severity="advice",
    summary="dropout layers drop nothing",
    why="They look as if the model were regularised, and it is not: a rate that never arrived, or that was set to 0 "
        "for an evaluation and not set back.",
    fix="Hand the rate on, use model.eval() for evaluation, or take the layers out.",
    source="Megatron-LM PR411",
    check=check,
    trips=lambda: _toy(rate=0.0, off_at=20),
    passes=_toy,
    wrong_when="the rate is 0 on purpose, as for a large model that sees each example a few times, or is lowered to 0",
    threshold=f"0 for {STEPS} steps after it was not, or over {PASSES} passes",
)
