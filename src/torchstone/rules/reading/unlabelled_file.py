"""Files without the label column."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.records import ReadReport
from torchstone.core.rule import Rule, found


def check(report: ReadReport) -> Iterator[Finding]:
    """One finding per file."""
    for file in report.unlabelled:
        what = f"{file} has no label column and was left out"
        yield found(RULE, what, where=Where(path=file))


RULE = Rule(
    code="DAT109",
    name="unlabelled_file",
    severity="warning",
    summary="a file lacks the label column and was left out",
    why="nothing can be measured on it; a competition's test file is like this",
    fix="add the labels, or move the file away",
    source="torchstone: examples without a label are not scored",
    check=check,
    trips=lambda: ReadReport("data", unlabelled=["test.csv"]),
    passes=lambda: ReadReport("data", unlabelled=[]),
)
