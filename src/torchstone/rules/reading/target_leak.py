"""Features that are the label."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.records import ReadReport
from torchstone.core.rule import Rule, found


def check(report: ReadReport) -> Iterator[Finding]:
    """One finding per column."""
    for column, how in report.leaks.items():
        what = f"column '{column}' tells the label in all {report.examples:,} rows: {how}"
        yield found(RULE, what, where=Where(field=column), evidence={"rows": report.examples})


RULE = Rule(
    code="DAT304",
    name="target_leak",
    severity="warning",
    summary="a feature tells the label outright",
    why="the score will be perfect and worthless: the column will not be known when the model is used",
    fix="leave it out with data.features",
    source="Kaufman et al. 2012, Leakage in data mining, ACM TKDD 6(4)",
    check=check,
    trips=lambda: ReadReport("data", examples=100, leaks={"code": "it equals the label in every row"}),
    passes=lambda: ReadReport("data", examples=100, leaks={}),
    wrong_when="the column is known before the label and the task is that easy",
    threshold="a one-to-one match in all of at least 10 rows (starting point)",
)
