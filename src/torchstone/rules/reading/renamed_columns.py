"""Columns without a name of their own."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.records import ReadReport
from torchstone.core.rule import Rule, found


def check(report: ReadReport) -> Iterator[Finding]:
    """One finding per column."""
    for file, old, new in report.renamed:
        what = f"column '{old}' stands twice in the header" if old else "a column has no name"
        yield found(RULE, f"{file}: {what}; called '{new}' here", where=Where(path=file, line=1, field=new))


RULE = Rule(
    code="DAT105",
    name="renamed_columns",
    severity="warning",
    summary="a column had no name, or the name of another, and was renamed",
    why="a rule or a person may mean the other column",
    fix="name every column once",
    source="torchstone: names are made unique by place",
    check=check,
    trips=lambda: ReadReport("data", renamed=[("train.csv", "", "column_1")]),
    passes=lambda: ReadReport("data", renamed=[]),
    wrong_when="the first column is the index that a data frame wrote",
)
