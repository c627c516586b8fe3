"""Rows without a label."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.records import ReadReport, place
from torchstone.core.rule import Rule, found

SHOWN = 20


def check(report: ReadReport) -> Iterator[Finding]:
    """One finding with the count and the first places."""
    if report.missing_labels:
        count, total = len(report.missing_labels), report.examples + len(report.missing_labels)
        listed = ", ".join(report.missing_labels[:SHOWN]) + (", …" if count > SHOWN else "")
        evidence = {"missing": count, "rows": total, "first": report.missing_labels[:SHOWN]}
        what = f"{count:,} of {total:,} rows have no label and were left out: {listed}"
        yield found(RULE, what, where=place(report.missing_labels[0]), evidence=evidence)


RULE = Rule(
    code="DAT102",
    name="missing_label",
    severity="warning",
    summary="rows without a label were left out",
    why="rows are seldom left unlabelled by chance: the hard ones are",
    fix="label them, or delete the rows",
    source="torchstone: empty cells and nulls are missing, NA, None and null are names of classes",
    check=check,
    trips=lambda: ReadReport("data", examples=9, missing_labels=["train.csv:4"]),
    passes=lambda: ReadReport("data", examples=10),
)
