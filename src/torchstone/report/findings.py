"""Findings on a page: what was seen, the harm, the mend, the evidence, and a small picture of it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from torchstone.core.finding import Finding
from torchstone.report.pictures import DRAWN, picture
from torchstone.report.scales import Curve
from torchstone.report.tables import as_json

# Letters of evidence that are shown; a longer list of ids is cut.
MAX_EVIDENCE = 2000


def findings_list(findings: Sequence[Finding], loss: Curve | None = None) -> str:
    """Every finding, errors first, as given; says so where there is none. loss: the run's own, for pictures."""
    if not findings:
        return '<div class="card muted">No rule found anything.</div>'
    return "".join(_finding(finding, loss) for finding in findings)


def _finding(finding: Finding, loss: Curve | None) -> str:
    kind = finding.severity if finding.severity in ("error", "warning", "advice") else "advice"
    where = f' <span class="muted small mono">{escape(str(finding.where))}</span>' if str(finding.where) else ""
    sure = ' <span class="muted small">likely</span>' if finding.confidence == "likely" else ""
    drawn = picture(finding, loss)
    proof = f'<div class="proof">{drawn}</div>' if drawn else ""
    return (
        f'<div class="finding {kind}"><div><span class="badge {kind}">{escape(finding.severity)}</span> '
        f"<b>{escape(finding.code)}</b>{sure}{where}</div><p>{escape(finding.what)}</p>"
        f'<p class="muted">{escape(finding.why)}</p><p><b>Mend:</b> {escape(finding.fix)}</p>{proof}'
        f"{_details(finding)}</div>"
    )


def _details(finding: Finding) -> str:
    """Source and evidence, folded away; what is drawn is not listed."""
    listed = {key: value for key, value in finding.evidence.items() if key not in DRAWN}
    text = as_json(listed) if listed else ""
    text = text if len(text) <= MAX_EVIDENCE else f"{text[:MAX_EVIDENCE]}…"
    rows = "".join(
        f"<p><b>{name}</b> <span>{escape(value)}</span></p>"
        for name, value in (("source", finding.source), ("evidence", text)) if value
    )  # fmt: skip
    return f"<details><summary>evidence and source</summary>{rows}</details>" if rows else ""
