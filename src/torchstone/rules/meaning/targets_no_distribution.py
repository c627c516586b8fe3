"""RUN413: cross-entropy with targets that do not add up to one."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_loss

TOLERANCE = 0.1


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where rows of float targets of cross_entropy do not sum to 1."""
    for row in of(rows, "loss"):
        error = row.get("target_sum_error")
        if row["function"] == "cross_entropy" and error is not None and error > TOLERANCE:
            what = f"targets of cross_entropy add up to 1 only within {error:.3g}; they are several answers, or none"
            yield found(RULE, what, where=at(row), evidence={"error": error, "shape": row["target_shape"]})
            return



RULE = Rule(
    code="RUN413",
    name="targets_no_distribution",
    severity="error",
    summary="cross-entropy is given rows with several ones, or none",
    why="A softmax lets classes push each other down: with several right answers none can be near 1.",
    fix="Several labels per example: binary_cross_entropy_with_logits; one: class numbers, or rows that sum to 1.",
    source="torch 2.14 documentation, CrossEntropyLoss",
    check=check,
    trips=lambda: toy_loop(more=[toy_loss(target_sum_error=2.0)]),
    passes=lambda: toy_loop(more=[toy_loss(target_sum_error=1e-7)]),
    wrong_when="targets are weighted on purpose",
    threshold=f"off by more than {TOLERANCE:g} in a row",
)
