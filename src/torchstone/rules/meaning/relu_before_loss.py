"""RUN419: a ReLU between the last layer and a loss that wants logits."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_loss

LOSSES, CALLS = ("cross_entropy", "binary_cross_entropy_with_logits"), 2


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the logits of two calls come straight from a ReLU."""
    sick = [row for row in of(rows, "loss") if is_sick(row)]
    if len(sick) >= CALLS:
        row = sick[0]
        limit = ("so that no probability is ever below one half" if row["function"] != "cross_entropy"
                 else "so that no class can be ruled out by a negative score")
        what = f"the logits of {row['function']} come from a ReLU ({row['low']:.3g} to {row['high']:.3g}), {limit}"
        yield found(RULE, what, where=at(row), evidence={"function": row["function"], "low": row["low"]})


def is_sick(row: Row) -> bool:
    """Whether a loss that wants logits is given what a ReLU lets through."""
    is_cut = row.get("node") == "Relu" and row.get("low") is not None and row["low"] >= 0
    return bool(row["has_grad"] and row["function"] in LOSSES and is_cut)


RULE = Rule(
    code="RUN419",
    name="relu_before_loss",
    severity="error",
    summary="the logits have been through a ReLU",
    why="Scores of wrong classes cannot go below 0, and where a ReLU is shut no gradient comes back: classes die.",
    fix="Take the activation after the last layer away: logits are any numbers.",
    source="Stack Overflow 47352366; Humbatova et al. 2020, Taxonomy of Real Faults in Deep Learning Systems (ICSE)",
    check=check,
    trips=lambda: toy_loop(more=[toy_loss(node="Relu", low=0.0)] * 3),
    passes=lambda: toy_loop(more=[toy_loss(node="Addmm", low=0.0)] * 3),
    wrong_when="scores that start at 0 are meant, as counts of evidence",
    threshold=f"the operation behind the logits, in {CALLS} calls",
    explains=("RUN604", "RUN605", "RUN303"),
)
