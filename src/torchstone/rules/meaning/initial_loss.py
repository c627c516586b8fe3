"""RUN408: a first loss far above what guessing would cost."""

from __future__ import annotations

import math
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_loss

FACTOR, FEWEST = 3.0, 8


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the first batch's cross-entropy is three times that of a guess, and above 4."""
    for row in of(rows, "loss"):
        if row["function"] != "cross_entropy" or not row["has_grad"] or row["step"] > 0:
            continue
        shape, value, spread = row["input_shape"], row.get("value"), row.get("std")
        if value is None or spread is None or len(shape) < 2 or shape[0] < FEWEST or row.get("reduction") != "mean":
            return
        guess = math.log(max(shape[1], 2))
        # logits spread by s cost about s^2 / 2 more than equal ones: the second-order term of log-sum-exp
        expected = guess + spread**2 / 2
        if value > FACTOR * guess and value > 4:
            what = (f"the first loss is {value:.3g}; guessing among {shape[1]} classes costs {guess:.3g}: the first "
                    f"outputs spread by {spread:.3g} where about 1 or less is usual")
            yield found(RULE, what, where=at(row),
                        evidence={"value": value, "guess": guess, "spread": spread, "expected": expected})
        return


RULE = Rule(
    code="RUN408",
    name="initial_loss",
    severity="warning",
    summary="the first loss is far worse than a guess",
    why="The network starts out confidently wrong: inputs are not scaled, or weights begin far too large; the first "
        "steps are spent on undoing it.",
    fix="Scale the inputs to mean 0 and standard deviation 1; use the default initialisation of the last layer.",
    source="Karpathy 2019, A Recipe for Training Neural Networks: verify loss @ init; the factor: starting point",
    check=check,
    trips=lambda: toy_loop(more=[toy_loss(value=99.9, std=120.0)]),
    passes=lambda: toy_loop(more=[toy_loss(value=1.8, std=0.9)]),
    wrong_when="training goes on from weights that were trained on other classes",
    threshold=f"{FACTOR:g} times ln K and above 4: log K alone cries wolf on few classes",
    confidence="likely",
)
