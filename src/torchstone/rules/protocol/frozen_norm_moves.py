"""RUN324: a frozen BatchNorm whose statistics move."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, place_of, some, toy_loop, toy_model


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per model with frozen BatchNorm layers that run in train mode while the model learns."""
    for row in of(rows, "model"):
        names = row.get("frozen_norms_in_training") or []
        if names:
            what = (f"{len(names)} BatchNorm layers are frozen by requires_grad alone ({some(names)}): their running "
                    "statistics still move")
            yield found(RULE, what, where=at(row, place_of(rows, "optimizer"), layer=names[0]),
                        evidence={"layers": names})


RULE = Rule(
    code="RUN324",
    name="frozen_norm_moves",
    severity="warning",
    summary="BatchNorm with frozen weights is in train mode",
    why="The frozen part normalises by each batch in training and by drifting statistics in evaluation: it is not the "
        "network that was frozen.",
    fix="Call .eval() on the frozen layers after each model.train().",
    source="pytorch#86590; CenterPoint#168",
    check=check,
    trips=lambda: toy_loop(more=[toy_model(frozen_norms_in_training=["body.1"])]),
    passes=toy_loop,
    wrong_when="statistics are meant to adapt to the new data while scales stay",
)
