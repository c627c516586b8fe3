"""RUN402: sigmoid before a loss that applies it again."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_loss

NAME = "binary_cross_entropy_with_logits"


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the input of binary_cross_entropy_with_logits was made by a sigmoid or a softmax."""
    for row in of(rows, "loss"):
        if row["function"] == NAME and row["has_grad"] and row.get("node") in ("Sigmoid", "Softmax"):
            node = str(row["node"]).lower()
            what = f"the input of {NAME} is the output of a {node}; the loss applies a sigmoid itself"
            yield found(RULE, what, where=at(row), evidence={"node": node, "low": row["low"], "high": row["high"]})
            return


RULE = Rule(
    code="RUN402",
    name="sigmoid_before_logits_loss",
    severity="error",
    summary="sigmoid is applied twice",
    why="The inner sigmoid's output lies in (0, 1), so that no probability below 0.5 can be said: the loss has a floor "
        "near 0.31 for positives and 0.69 for negatives.",
    fix="Give the loss the logits, and apply sigmoid for the metrics alone; or use binary_cross_entropy.",
    source="torch 2.14 documentation, BCEWithLogitsLoss; UNet3plus#23; LeakPro#229",
    check=check,
    trips=lambda: toy_loop(more=[toy_loss(function=NAME, node="Sigmoid", low=0.2, high=0.8)]),
    passes=lambda: toy_loop(more=[toy_loss(function=NAME)]),
)
