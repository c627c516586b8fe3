"""RUN502: inputs of a scale that networks do not bear."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_input, toy_loop

LARGEST, SPREAD, CALLS = 100.0, 20.0, 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the first three training inputs of a model all are large and widely spread."""
    seen = [row for row in of(rows, "input") if row["has_grad"] and row.get("std") is not None]
    sick = [row for row in seen if max(abs(row["low"]), abs(row["high"])) > LARGEST and row["std"] > SPREAD]
    if len(sick) >= CALLS and len(sick) == len(seen):
        row = sick[-1]
        what = (f"inputs go from {row['low']:.4g} to {row['high']:.4g} with a standard deviation of {row['std']:.4g}; "
                "about 1 is what networks are initialised for")
        evidence = {"low": row["low"], "high": row["high"], "std": row["std"]}
        yield found(RULE, what, where=at(row), evidence=evidence)


RULE = Rule(
    code="RUN502",
    name="input_scale",
    severity="warning",
    summary="the inputs are not scaled",
    why="The first outputs are huge, gradients follow the largest column, and the usual learning rates do not work.",
    fix="Subtract the mean and divide by the standard deviation of the training part (pictures: divide by 255).",
    source="Stack Overflow 39525358, 55328966; LeCun et al. 1998, Efficient BackProp",
    check=check,
    trips=lambda: toy_loop(more=[toy_input(low=-3000.0, high=3100.0, std=1000.0)] * 3),
    passes=lambda: toy_loop(more=[toy_input()] * 3),
    wrong_when="the model's first layer is a norm, or an embedding of bins",
    threshold=f"beyond {LARGEST:g} with a deviation above {SPREAD:g} in {CALLS} batches: starting point",
    confidence="likely",
    explains=("RUN408",),
)
