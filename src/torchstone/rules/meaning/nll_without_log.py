"""RUN403: nll_loss of something that is no log-probability."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_loss


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the input was made by a softmax, or holds a positive value."""
    for row in of(rows, "loss"):
        if row["function"] == "nll_loss" and row["has_grad"] and is_sick(row):
            how = "is the output of a softmax" if row.get("node") == "Softmax" else f"goes up to {row['high']:.3g}"
            what = f"the input of nll_loss {how}; log-probabilities are never above 0"
            yield found(RULE, what, where=at(row), evidence={"node": row.get("node"), "high": row["high"]})
            return


def is_sick(row: Row) -> bool:
    """Whether the input cannot be log-probabilities."""
    return row.get("node") == "Softmax" or (row["high"] is not None and row["high"] > 1e-3)


RULE = Rule(
    code="RUN403",
    name="nll_without_log",
    severity="error",
    summary="nll_loss is fed with probabilities or logits",
    why="The loss becomes minus a probability or a logit: it falls below zero and is not a likelihood.",
    fix="Give it F.log_softmax(logits, dim=1), or use cross_entropy with the logits.",
    source="torch 2.14 documentation, NLLLoss; Text-Classification-Models#9",
    check=check,
    trips=lambda: toy_loop(more=[toy_loss(function="nll_loss", node="Softmax", low=0.1, high=0.5)]),
    passes=lambda: toy_loop(more=[toy_loss(function="nll_loss", node="LogSoftmax", low=-3.0, high=-0.1)]),
    threshold="any value above 0.001: rounding leaves log-probabilities at most a hair above 0",
)
