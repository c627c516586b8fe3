"""Quotation marks that do not pair."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.records import ReadReport
from torchstone.core.rule import Rule, found


def check(report: ReadReport) -> Iterator[Finding]:
    """One finding per file."""
    for file in report.loose_quotes:
        what = f"{file}: quotation marks do not pair; they were read as plain text, which fits every row"
        yield found(RULE, what, where=Where(path=file))


RULE = Rule(
    code="DAT110",
    name="loose_quotes",
    severity="warning",
    summary="quotation marks do not pair and were read as plain text",
    why="if quoting was meant, quotation marks now stand in the texts and labels",
    fix="close every quoted field, or write the file without quoting",
    source="RFC 4180, section 2, rules 5 to 7",
    check=check,
    trips=lambda: ReadReport("data", loose_quotes=["train.tsv"]),
    passes=lambda: ReadReport("data", loose_quotes=[]),
    wrong_when="the file was written without quoting",
)
