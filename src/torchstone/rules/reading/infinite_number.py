"""Infinite numbers."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.records import ReadReport, place
from torchstone.core.rule import Rule, found


def check(report: ReadReport) -> Iterator[Finding]:
    """One finding per column."""
    for column, (count, first) in report.infinite.items():
        what = f"column '{column}' holds {count:,} infinite numbers, first at {first}; treated as missing"
        yield found(RULE, what, where=place(first, column), evidence={"count": count})


RULE = Rule(
    code="DAT303",
    name="infinite_number",
    severity="warning",
    summary="a column holds infinite numbers",
    why="one infinity makes mean, loss and weights infinite",
    fix="find the division by zero or the overflow that made them",
    source="IEEE 754: no finite result comes out of a sum with an infinity",
    check=check,
    trips=lambda: ReadReport("data", infinite={"ratio": (2, "train.csv:8")}),
    passes=lambda: ReadReport("data", infinite={}),
)
