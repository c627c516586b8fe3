"""RUN405: cross-entropy over a single class."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_loss


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where cross_entropy or nll_loss gets one logit per example."""
    for row in of(rows, "loss"):
        shape = row["input_shape"]
        if row["function"] in ("cross_entropy", "nll_loss") and len(shape) >= 2 and shape[1] == 1:
            what = f"{row['function']} gets one logit per example (input {shape}): its loss is 0, whatever the weights"
            yield found(RULE, what, where=at(row), evidence={"input": shape})
            return


RULE = Rule(
    code="RUN405",
    name="one_class",
    severity="error",
    summary="a softmax over one class is always 1",
    why="Loss and gradients are 0: nothing is learnt.",
    fix="For a yes-or-no answer use binary_cross_entropy_with_logits on the one logit, or give the model two outputs.",
    source="Stack Overflow 50306988",
    check=check,
    trips=lambda: toy_loop(more=[toy_loss(input_shape=[32, 1])]),
    passes=lambda: toy_loop(more=[toy_loss()]),
    explains=("RUN303",),
)
