"""An audit for a person: each finding with its place, the harm and the mend, and a last line that counts."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from torchstone.core.finding import SEVERITIES, Finding
from torchstone.flows.audit import Audit
from torchstone.flows.audit_places import Place
from torchstone.report.terminal import SEVERITY_STYLES

PLURALS = {"error": "errors", "warning": "warnings", "advice": "pieces of advice"}
ONES = {"error": "error", "warning": "warning", "advice": "piece of advice"}
INDENT = " " * 4
MAX_LINE = 160  # characters of a line of code that are shown; generated lines can be a megabyte


def audit_lines(made: Audit, places: Sequence[Place]) -> Iterator[tuple[str, str]]:
    """The text with a style for each line: file by file, by line; why and fix of a rule where it is first found.

    places: of the findings, in their order.
    """
    order = sorted(zip(made.findings, places, strict=True), key=lambda pair: _key(*pair))
    told: set[str] = set()
    last = None
    for finding, place in order:
        if last not in (None, place.path):
            yield "", ""
        last = place.path
        yield harmless(f"{place}: {finding.code} {finding.severity}: {finding.what}"), SEVERITY_STYLES[finding.severity]
        if place.text:
            cut = "…" if len(place.text) > MAX_LINE else ""
            yield harmless(f"{INDENT}| {place.text[:MAX_LINE]}{cut}"), "dim"
        if finding.code not in told:
            yield f"{INDENT}why: {finding.why}", ""
        yield f"{INDENT}fix: {finding.fix}{' [--fix]' if finding.evidence.get('edits') else ''}", ""
        told.add(finding.code)
    if order:
        yield "", ""
    yield summary(made), "bold"
    mendable = sum(bool(finding.evidence.get("edits")) for finding in made.findings)
    if mendable:
        yield f"{mendable} can be mended: torchstone audit --diff shows how, --fix does it", ""


def harmless(text: str) -> str:
    """A text of others without what a terminal would obey or cannot show: \\x1b for the escape character."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def _key(finding: Finding, place: Place) -> tuple[str, int, int, str]:
    return place.path, finding.where.line or 0, SEVERITIES.index(finding.severity), finding.code


def summary(made: Audit) -> str:
    """How much was read, and how much was found."""
    counts = Counter(finding.severity for finding in made.findings)
    told = ", ".join(counted(counts[kind], ONES[kind], PLURALS[kind]) for kind in SEVERITIES if counts[kind])
    silenced = f", {len(made.waived):,} ignored with a reason" if made.waived else ""
    read = f"{counted(made.files, 'file', 'files')} read, {made.judged:,} with a training library"
    return f"{read}: {told or 'nothing found'}{silenced}"


def counted(number: int, one: str, many: str) -> str:
    """A number with its noun: 1 file, 1,200 files."""
    return f"{number:,} {one if number == 1 else many}"


def show(lines: Iterator[tuple[str, str]]) -> None:
    """Prints lines to standard output: coloured and wrapped on a terminal, plain elsewhere."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    for line, style in lines:
        width = max(console.width, 40) if console.is_terminal else None
        wrapped = textwrap.wrap(line, width, subsequent_indent=INDENT * 2, break_on_hyphens=False) if width else [line]
        for part in wrapped or [""]:
            console.print(part, style=style or None, markup=False)
