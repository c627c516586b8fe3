"""Columns that name rows."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.records import ReadReport
from torchstone.core.rule import Rule, found


def check(report: ReadReport) -> Iterator[Finding]:
    """One finding per column."""
    for column, reason in report.identifiers.items():
        yield found(RULE, f"column '{column}' names rows: {reason}", where=Where(field=column))


RULE = Rule(
    code="DAT302",
    name="identifier_column",
    severity="warning",
    summary="a column names rows instead of describing them",
    why="a model can learn rows by heart through it, and none occurs again; left out unless the recipe names it",
    fix="drop it, or name it in data.features if it means something",
    source="torchstone: all different, or counting the rows, from 20 rows on (starting point)",
    check=check,
    trips=lambda: ReadReport("data", identifiers={"id": "it counts the rows"}),
    passes=lambda: ReadReport("data", identifiers={}),
    wrong_when="the rows are in the order of time and the number is a time",
)
