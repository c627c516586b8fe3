"""Text that is not UTF-8."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.records import ReadReport
from torchstone.core.rule import Rule, found


def check(report: ReadReport) -> Iterator[Finding]:
    """One finding per file."""
    for file, encoding, line in report.encodings:
        what = f"{file} is not UTF-8 (first in line {line}); read as {encoding}"
        yield found(RULE, what, where=Where(path=file, line=line), evidence={"encoding": encoding})


RULE = Rule(
    code="DAT103",
    name="encoding_fallback",
    severity="warning",
    summary="a file is not UTF-8 and was read in a guessed encoding",
    why="a wrong guess turns letters into others, in texts and in names of classes",
    fix="save the file as UTF-8",
    source="WHATWG Encoding Standard: Latin-1 is read as windows-1252",
    check=check,
    trips=lambda: ReadReport("data", encodings=[("train.csv", "windows-1252", 7)]),
    passes=lambda: ReadReport("data", encodings=[]),
    wrong_when="the guess is right",
)
