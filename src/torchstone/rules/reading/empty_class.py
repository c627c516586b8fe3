"""Class folders without a picture."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.records import ReadReport
from torchstone.core.rule import Rule, found


def check(report: ReadReport) -> Iterator[Finding]:
    """One finding per folder."""
    for folder in report.empty_classes:
        yield found(RULE, f"the class folder '{folder}' holds no usable picture", where=Where(path=folder))


RULE = Rule(
    code="DAT107",
    name="empty_class",
    severity="warning",
    summary="a class folder holds no picture",
    why="the class cannot be learnt; the indices of the other classes do not depend on it",
    fix="add pictures, or delete the folder",
    source="timm#957, vision#2831: an empty folder shifts the indices of the classes",
    check=check,
    trips=lambda: ReadReport("data", empty_classes=["tulip"]),
    passes=lambda: ReadReport("data", empty_classes=[]),
)
