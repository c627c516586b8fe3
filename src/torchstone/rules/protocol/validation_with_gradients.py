"""RUN323: gradients are recorded in validation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_pass

NUM = 2


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per loader with two whole passes without training, all of whose forward passes built graphs."""
    seen: Counter[int] = Counter()
    for row in of(rows, "pass"):
        is_validation = row["is_whole"] and not row["backwards"] and row["first_step"] > 0 and row["forwards"]
        if is_validation and row["forwards_with_grad"] == row["forwards"]:
            seen[row["loader"]] += 1
            if seen[row["loader"]] == NUM:
                what = f"{NUM} passes over {row['examples']} examples without training built a graph for every batch"
                yield found(RULE, what, where=at(row), evidence={"passes": NUM, "forwards": row["forwards"]})


RULE = Rule(
    code="RUN323",
    name="validation_with_gradients",
    severity="warning",
    summary="torch.no_grad() is missing in validation",
    why="Activations are kept for a backward pass that never comes: memory and time for nothing, and a smaller batch "
        "than the device could take.",
    fix="Put the validation loop under torch.inference_mode() or torch.no_grad().",
    source="semseg#60; skorch#218; torch 2.14 documentation, Autograd mechanics",
    check=check,
    trips=lambda: toy_loop(more=[toy_pass(forwards_with_grad=3, number=n) for n in (1, 2)]),
    passes=lambda: toy_loop(more=[toy_pass(number=n) for n in (1, 2)]),
    wrong_when="gradients of inputs are wanted there, as for adversarial examples",
    threshold=f"{NUM} whole passes",
)
