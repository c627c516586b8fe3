"""Tables whose first line is data."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.records import ReadReport
from torchstone.core.rule import Rule, found


def check(report: ReadReport) -> Iterator[Finding]:
    """One finding per file."""
    for file in report.headerless:
        what = (
            f"{file}: the first line looks like data, not like names; the columns are numbered column_1, column_2, …"
        )
        yield found(RULE, what, where=Where(path=file, line=1))


RULE = Rule(
    code="DAT106",
    name="headerless",
    severity="warning",
    summary="a table has no header",
    why="numbered columns are easily confused; and if the line was a header, it became an example",
    fix="put a line of column names on top",
    source="torchstone: a first line is data if it has a number above numbers, or a cell that comes again below",
    check=check,
    trips=lambda: ReadReport("data", headerless=["train.csv"]),
    passes=lambda: ReadReport("data", headerless=[]),
    wrong_when="the names of the columns are numbers",
)
