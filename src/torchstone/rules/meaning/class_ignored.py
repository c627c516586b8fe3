"""RUN424: ignore_index names a class of the data."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_loss

CALLS = 2


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where two training batches had labels, one per example, that the loss passes over."""
    sick = [row for row in of(rows, "loss") if row["has_grad"] and row.get("num_ignored")]
    if len(sick) >= CALLS:
        row = sick[0]
        what = (f"{row['num_ignored']} of {row['num_targets']} labels are class {row['ignored']}, which ignore_index "
                f"leaves out although the model has an output for it")
        yield found(RULE, what, where=at(row), evidence={
            "ignored": row["ignored"], "num": row["num_ignored"], "of": row["num_targets"]})  # fmt: skip


RULE = Rule(
    code="RUN424",
    name="class_ignored",
    severity="warning",
    summary="the loss never looks at one of the classes",
    why="Examples of that class teach nothing, and its output is only ever pushed down.",
    fix="Leave ignore_index at -100 for labels of whole examples; give it the padding token for sequences only.",
    source="torch 2.14 documentation, cross_entropy: ignore_index",
    check=check,
    trips=lambda: toy_loop(more=[toy_loss(ignored=0, num_ignored=9, num_targets=32)] * 3),
    passes=lambda: toy_loop(more=[toy_loss(ignored=0, num_ignored=0, num_targets=32)] * 3),
    wrong_when="that class stands for examples without a label",
    threshold=f"{CALLS} of the first batches",
    explains=("RUN607",),
)
