"""Columns of numbers with a few cells that are none."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.records import ReadReport, place
from torchstone.core.rule import Rule, found


def check(report: ReadReport) -> Iterator[Finding]:
    """One finding per column."""
    for column, (count, first, cell) in report.odd.items():
        what = f"column '{column}' holds numbers and {count:,} others, first '{cell}' at {first}; treated as missing"
        yield found(RULE, what, where=place(first, column), evidence={"count": count, "first": cell})


RULE = Rule(
    code="DAT305",
    name="almost_numbers",
    severity="warning",
    summary="a column of numbers holds a few cells that are none",
    why="they are typing errors or unknown marks of missing values; either is better mended than guessed",
    fix="write a number, or leave the cell empty",
    source="torchstone: up to 1 % of the cells (starting point)",
    check=check,
    trips=lambda: ReadReport("data", odd={"age": (1, "train.csv:9", "forty")}),
    passes=lambda: ReadReport("data", odd={}),
    threshold="at most 1 % of the cells, else the column is a category (starting point)",
)
