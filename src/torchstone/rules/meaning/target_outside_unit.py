"""RUN412: binary cross-entropy with targets outside of 0 to 1."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_loss

FUNCTIONS = ("binary_cross_entropy", "binary_cross_entropy_with_logits")


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where a target of binary cross-entropy is no probability."""
    for row in of(rows, "loss"):
        low, high = row.get("target_low"), row.get("target_high")
        if row["function"] in FUNCTIONS and low is not None and high is not None and (low < 0 or high > 1):
            what = f"targets of {row['function']} go from {low:.3g} to {high:.3g}; they are probabilities, 0 to 1"
            yield found(RULE, what, where=at(row), evidence={"low": low, "high": high})
            return



RULE = Rule(
    code="RUN412",
    name="target_outside_unit",
    severity="error",
    summary="targets of binary cross-entropy that are no probabilities",
    why="The loss has no lower end: it falls without limit while outputs run to one side.",
    fix="Scale the targets to 0 … 1 (pixels: divide by their largest value), or use a squared error.",
    source="torch 2.14 documentation, BCELoss",
    check=check,
    trips=lambda: toy_loop(more=[toy_loss(function="binary_cross_entropy", target_low=0.0, target_high=16.0)]),
    passes=lambda: toy_loop(more=[toy_loss(function="binary_cross_entropy", target_low=0.0, target_high=1.0)]),
)
