"""Columns that never change."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.records import ReadReport
from torchstone.core.rule import Rule, found


def check(report: ReadReport) -> Iterator[Finding]:
    """One finding per column."""
    for column, value in report.constant.items():
        what = f"column '{column}' is always {value}" if value != "nothing" else f"column '{column}' is empty"
        yield found(RULE, what, where=Where(field=column))


RULE = Rule(
    code="DAT301",
    name="constant_column",
    severity="warning",
    summary="a column holds one value only",
    why="it tells nothing about the label; it is left out unless the recipe names it",
    fix="drop it, or find out why it never changes",
    source="by definition: a constant carries no information",
    check=check,
    trips=lambda: ReadReport("data", constant={"country": "US"}),
    passes=lambda: ReadReport("data", constant={}),
)
