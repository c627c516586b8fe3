"""Blanks after every delimiter."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.records import ReadReport
from torchstone.core.rule import Rule, found


def check(report: ReadReport) -> Iterator[Finding]:
    """One finding per file."""
    for file in report.blanks:
        what = f"{file}: a blank follows every delimiter; it was taken off from labels and texts"
        yield found(RULE, what, where=Where(path=file))


RULE = Rule(
    code="DAT108",
    name="leading_blanks",
    severity="advice",
    summary="the blank after every delimiter was taken off",
    why="names of classes and categories differ from those in the file by this blank",
    fix="write the file without blanks after the delimiter",
    source="UCI archive files such as Adult are written so",
    check=check,
    trips=lambda: ReadReport("data", blanks=["train.tsv"]),
    passes=lambda: ReadReport("data", blanks=[]),
    wrong_when="the blanks carry meaning",
)
