"""Files that were passed over."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.records import ReadReport
from torchstone.core.rule import Rule, found


def check(report: ReadReport) -> Iterator[Finding]:
    """One finding with the kinds and counts."""
    if report.ignored:
        kinds = ", ".join(f"{count:,} x {kind}" for kind, count in sorted(report.ignored.items()))
        what = f"{sum(report.ignored.values()):,} files or folders were passed over: {kinds}"
        yield found(RULE, what, where=Where(path=report.source), evidence=dict(report.ignored))


RULE = Rule(
    code="DAT104",
    name="ignored_files",
    severity="advice",
    summary="files beside the data were passed over",
    why="data under an unexpected name or format would be missed",
    fix="move them out of the folder, if they are no data",
    source="mmpretrain#507, vision#2831, timm#957: .ipynb_checkpoints read as a class",
    check=check,
    trips=lambda: ReadReport("data", ignored={"hidden folder": 1}),
    passes=lambda: ReadReport("data", ignored={}),
    wrong_when="they are no data",
)
