"""Pictures that do not decode."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Severity, Where
from torchstone.core.records import ReadReport
from torchstone.core.rule import Rule, found

# While fewer than this share of the pictures is broken, the rest still stands for the data. Starting point.
FEW = 0.01
# A folder of broken files would otherwise give as many findings; the last finding counts the rest.
SHOWN = 50


def check(report: ReadReport) -> Iterator[Finding]:
    """One finding per picture that was left out; a warning each while they are few."""
    count, share = len(report.unreadable), len(report.unreadable) / max(1, report.pictures)
    severity: Severity = "warning" if share < FEW else "error"
    evidence = {"unreadable": count, "pictures": report.pictures, "share": share, "threshold": FEW}
    for place, reason in report.unreadable[:SHOWN]:
        where = Where(path=place)
        yield found(RULE, f"{place}: {reason}", where=where, evidence=evidence, severity=severity)
    if count > SHOWN:
        yield found(
            RULE, f"and {count - SHOWN:,} more pictures that do not decode", evidence=evidence, severity=severity
        )


RULE = Rule(
    code="DAT101",
    name="unreadable_picture",
    severity="error",
    summary="a picture does not decode and was left out",
    why="what is left out is not learnt and not judged; if it is not chance, the result is skewed",
    fix="copy the picture again, or delete it",
    source="Pillow decodes every byte; the share is a starting point",
    check=check,
    trips=lambda: ReadReport("data", pictures=10, unreadable=[("rose/3.jpg", "the file is empty (0 bytes)")]),
    passes=lambda: ReadReport("data", pictures=10),
    wrong_when="the picture is known to be broken and not needed",
    threshold="error from 1 % of the pictures, a warning below (starting point)",
)
