"""RUN406: kl_div of something that is no log-probability."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_loss


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the first argument of kl_div was made by a softmax, or holds a positive value."""
    for row in of(rows, "loss"):
        is_sick = row.get("node") == "Softmax" or (row["high"] is not None and row["high"] > 1e-3)
        if row["function"] == "kl_div" and is_sick:
            what = f"the first argument of kl_div goes up to {row['high']:.3g}; log-probabilities are expected there"
            yield found(RULE, what, where=at(row), evidence={"node": row.get("node"), "high": row["high"]})
            return


RULE = Rule(
    code="RUN406",
    name="kl_without_log",
    severity="error",
    summary="kl_div is fed with probabilities or logits",
    why="The number is not a divergence: it can be negative, and its minimum is not where the two agree.",
    fix="Give it F.log_softmax(student / T, dim=1) first and F.softmax(teacher / T, dim=1) second.",
    source="torch 2.14 documentation, KLDivLoss",
    check=check,
    trips=lambda: toy_loop(more=[toy_loss(function="kl_div", node="Softmax", low=0.1, high=0.7)]),
    passes=lambda: toy_loop(more=[toy_loss(function="kl_div", node="LogSoftmax", low=-4.0, high=-0.1)]),
)
