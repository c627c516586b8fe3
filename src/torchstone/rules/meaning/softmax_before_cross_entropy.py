"""RUN401: softmax before cross-entropy, which applies it again."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_loss

CALLS, TOLERANCE = 3, 1e-3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the input of cross-entropy was made by a softmax, or three batches look as if it was."""
    calls = [row for row in of(rows, "loss") if row["function"] == "cross_entropy" and row["has_grad"]]
    by_node = next((row for row in calls if row.get("node") == "Softmax"), None)
    hidden = [row for row in calls if looks_normalised(row)]
    sick = by_node or (hidden[-1] if len(hidden) >= CALLS and len(hidden) == len(calls) else None)
    if sick is not None:
        how = "is the output of a softmax" if by_node else f"lies in [0, 1] and adds up to 1 in {len(hidden)} batches"
        what = f"the input of cross_entropy {how}; cross_entropy applies log-softmax itself"
        evidence = {"node": sick.get("node"), "low": sick["low"], "high": sick["high"], "sum_error": sick["sum_error"]}
        yield found(RULE, what, where=at(sick), evidence=evidence)


def looks_normalised(row: Row) -> bool:
    """Whether every example's inputs are probabilities of two classes or more."""
    error = row.get("sum_error")
    return error is not None and error <= TOLERANCE and row["low"] >= 0 and row["high"] <= 1 + TOLERANCE


RULE = Rule(
    code="RUN401",
    name="softmax_before_cross_entropy",
    severity="error",
    summary="softmax is applied twice",
    why="Probabilities taken for logits leave a loss that cannot fall below about ln(1 + (K-1)/e) for K classes, with "
        "small gradients; accuracy may still look fine.",
    fix="Return the logits from the model, and apply softmax for the metrics alone.",
    source="torch 2.14 documentation, CrossEntropyLoss; Schoop et al. 2021, UMLAUT (CHI)",
    check=check,
    trips=lambda: toy_loop(more=[toy_loss(node="Softmax", low=0.1, high=0.5, sum_error=1e-7)]),
    passes=lambda: toy_loop(more=[toy_loss()] * 3),
    wrong_when="a temperature is folded into probabilities on purpose",
    threshold=f"the name of the node; without one, sums within {TOLERANCE:g} of 1 in {CALLS} batches",
    explains=("RUN408",),
)
