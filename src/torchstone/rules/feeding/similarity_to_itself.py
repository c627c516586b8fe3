"""RUN527: a contrastive loss in which each example is compared with itself."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_loss

CALLS = 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the logits of all training batches read hold every example's similarity to itself."""
    calls = [row for row in of(rows, "loss") if row["has_grad"] and row["function"] == "cross_entropy"]
    sick = [row for row in calls if row.get("keeps_self")]
    if len(sick) >= CALLS and len(sick) == len(calls):
        num = sick[-1]["input_shape"][0]
        what = (f"the logits are similarities of {num} things to one another; each one's to itself is the largest of "
                "its row, and is never the answer")
        yield found(RULE, what, where=at(sick[-1]), evidence={"things": num, "value": sick[-1].get("value")})


RULE = Rule(
    code="RUN527",
    name="similarity_to_itself",
    severity="warning",
    summary="the diagonal of a contrastive loss is not masked",
    why="The strongest rival of each positive is the example itself, which nothing can move: the loss cannot come "
        "down, and little of the gradient is about real negatives.",
    fix="similarities.fill_diagonal_(float('-inf')) before cross_entropy.",
    source="Chen et al. 2020, A Simple Framework for Contrastive Learning, equation 1: the sum is over k ≠ i",
    check=check,
    trips=lambda: toy_loop(more=[toy_loss(keeps_self=True, input_shape=[64, 64])] * CALLS),
    passes=lambda: toy_loop(more=[toy_loss(keeps_self=False, input_shape=[64, 64])] * CALLS),
    threshold=f"symmetric logits whose diagonal is one number and the largest of each row, in {CALLS} batches",
)
