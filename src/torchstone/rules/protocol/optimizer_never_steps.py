"""RUN332: an optimizer whose parameters get gradients and that never steps."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_optimizer

LOOKS = 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer without a step whose parameters had gradients at three looks, ten steps apart."""
    for row in of(rows, "optimizer"):
        looks = row.get("idle_looks", 0)
        if looks >= LOOKS:
            what = f"{row['kind']} over {row['num_parameters']} parameters has not stepped once; they do get gradients"
            yield found(RULE, what, where=at(row), evidence={"optimizer": row["optimizer"], "looks": looks})



RULE = Rule(
    code="RUN332",
    name="optimizer_never_steps",
    severity="error",
    summary="one of several optimizers is never stepped",
    why="A part of the model stays as it was made, while its gradients pile up.",
    fix="Call step() of each optimizer, or freeze what is not to learn.",
    source="torch 2.14 documentation, Optimizing model parameters; the rule is our own",
    check=check,
    trips=lambda: toy_loop(more=[toy_optimizer(optimizer=1, own_steps=0, idle_looks=3)]),
    passes=lambda: toy_loop(more=[toy_optimizer(optimizer=1, idle_looks=0)]),
    wrong_when="this optimizer is for a later phase, and nothing else moves its parameters until then",
    threshold=f"{LOOKS} looks, one each 10 steps of the others",
)
