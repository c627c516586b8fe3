"""Labels that differ only by case, blanks or Unicode form."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.records import ReadReport
from torchstone.core.rule import Rule, found


def check(report: ReadReport) -> Iterator[Finding]:
    """One finding per group of spellings."""
    for group in report.spellings:
        said = " and ".join(f"'{name}' ({count:,})" for name, count in group)
        evidence = {"spellings": [{"label": name, "count": count} for name, count in group]}
        yield found(RULE, f"labels differ only by case or blanks: {said}", evidence=evidence)


RULE = Rule(
    code="DAT111",
    name="label_spelling",
    severity="warning",
    summary="two labels differ only by case or blanks",
    why="one class is split in two that nothing can tell apart",
    fix="write one spelling in all rows",
    source="Unicode Standard Annex 15 (form NFKC) and case folding",
    check=check,
    trips=lambda: ReadReport("data", spellings=[(("spam", 10), ("Spam", 2))]),
    passes=lambda: ReadReport("data", spellings=[]),
    wrong_when="case carries the meaning, as in units (mW, MW)",
)
