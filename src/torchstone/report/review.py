"""A review for a person: lines, a self-contained page, and a card in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from torchstone.core.review import VERDICTS, Proof
from torchstone.flows.review import Answered, Review
from torchstone.report.findings import findings_list
from torchstone.report.html import shell, tile
from torchstone.report.tables import table
from torchstone.report.terminal import Row

_STYLES = {"fail": "bold red", "needs a person": "yellow", "pass": "green", "not applicable": "dim"}
# The look of a verdict on the page, in the words of its style.
_BADGES = {"fail": "failed", "needs a person": "unfinished", "pass": "finished", "not applicable": "default"}
# Pieces of evidence that a line on the terminal shows; the page and --json show all.
SHOWN = 2


def review_rows(review: Review) -> Iterator[Row]:
    """Each question with its answer and the first pieces of evidence; then how many of each kind."""
    run = review.reviewed
    yield Row("review", f"{run.name} ({run.kind}, {run.status}), checklist {review.checklist.name}", "bold")
    for one in review.answers:
        yield Row(one.question.key, f"{one.verdict:<14}  {one.question.ask}", _STYLES[one.verdict])
        yield Row(one.question.key, f"  {one.because}")
        if one.people:
            yield Row(one.question.key, f"  the files say {one.found.verdict}: {one.found.because}", "dim")
        for proof in one.found.proofs[:SHOWN]:
            yield Row(one.question.key, f"  {_short(proof_text(proof))}", "dim")
    yield Row("result", _counted(review), "bold")
    open_ones = [one.question.key for one in review.answers if one.verdict == "needs a person"]
    if open_ones:
        words = "--verdict pass --by NAME --reason TEXT"
        yield Row("next", f"torchstone review {run.name} --answer {open_ones[0]} {words}")


def _counted(review: Review) -> str:
    return " · ".join(f"{number} {verdict}" for verdict, number in review.counts.items() if number)


def proof_text(proof: Proof) -> str:
    """`plan.yaml:31  train.precision = bf16 …`: where it stands (file and line, else the step), and what it says."""
    where = proof.where
    place = f"{where.path}:{where.line}" if where.path and where.line else where.path or ""
    if not place and where.step is not None:
        place = f"step {where.step:,}"
    if place and where.path and "/" in where.path:
        place = place.rpartition("/")[2]
    return proof.says if not place or proof.says.startswith(place) else f"{place}  {proof.says}"


def _short(text: str) -> str:
    """Digests by their first letters: a line is for the eye."""
    return re.sub(r"\b([0-9a-f]{16})[0-9a-f]{48}\b", r"\1…", text)


def render_review(review: Review) -> str:
    """The page as text: a table of answers, then each with all of its evidence, and findings behind every no."""
    run, counts = review.reviewed, review.counts
    tiles = "".join(tile(str(counts[verdict]), verdict, "", is_main=verdict == "fail") for verdict in VERDICTS)
    header = (f'<header><h1>{escape(run.name)}</h1><span class="badge default">{escape(run.status)}</span>'
              f'<div class="muted">checklist {escape(review.checklist.name)}, {len(review.answers)} questions</div>'
              f'<div class="tiles">{tiles}</div></header>')  # fmt: skip
    cells = [(f'<a href="#{escape(one.question.key)}">{escape(one.question.key)}</a>', escape(one.question.ask),
              _badge(one), escape(one.because)) for one in review.answers]  # fmt: skip
    listed = f'<div class="card">{table(("key", "question", "answer", "because"), cells, names=(0,))}</div>'
    sections = [("answers", "Answers", listed), ("evidence", "Evidence", "".join(map(_evidence, review.answers)))]
    if review.findings:
        sections.append(("findings", f"Findings ({len(review.findings)})", findings_list(review.findings)))
    head = f" Head of the ledger: <code>{escape(review.head)}</code>." if review.head else ""
    footer = f"Made by torchstone review from {escape(run.folder or run.name)}.{head}"
    return shell(f"review of {run.name}", header, sections, footer=footer)


def _badge(one: Answered) -> str:
    return f'<span class="badge {_BADGES[one.verdict]}">{escape(one.verdict)}</span>'


def _evidence(one: Answered) -> str:
    items = "".join(f'<li>{escape(proof_text(proof))} <span class="muted small">{escape(str(proof.where))}</span></li>'
                    for proof in one.found.proofs)  # fmt: skip
    people = "".join(f"<p><b>{escape(str(row['verdict']))}</b> {escape(_signed(row))}</p>" for row in one.people)
    said = f"The files say {one.found.verdict}: {one.found.because}" if people else ""
    said = f'<p class="muted">{escape(said)}</p>' if said else ""
    return (f'<div class="card" id="{escape(one.question.key)}" style="margin-bottom:10px"><b>'
            f"{escape(one.question.key)}</b> {_badge(one)} {escape(one.question.ask)}<p>{escape(one.because)}</p>"
            f'{people}{said}<ul>{items}</ul><p class="muted small">{escape(rules_text(one))}</p></div>')  # fmt: skip


def _signed(row: Mapping[str, Any]) -> str:
    return f"by {row['by']}, {row['time']}: {row['reason']}"


def rules_text(one: Answered) -> str:
    """Which rules were asked, and about what; which were not."""
    about: dict[str, list[str]] = {}
    for code, subject in one.asked.items():
        about.setdefault(subject, []).append(code)
    texts = [f"asked about {subject}: {', '.join(codes)}" for subject, codes in about.items()]
    texts += [f"proof: {one.question.proof}"] if one.question.proof else []
    texts += [f"not asked: {', '.join(one.unasked)}"] if one.unasked else []
    return "; ".join(texts)


def card_text(review: Review) -> str:
    """The review as Markdown, to be kept beside a model or in a pull request."""
    run = review.reviewed
    lines = [f"# Review of {_plain(run.name)}", "",
             f"{run.kind}, {_plain(run.status)}; checklist {_plain(review.checklist.name)}: {_counted(review)}.", "",
             "| | question | answer | because |", "|---|---|---|---|"]  # fmt: skip
    for one in review.answers:
        verdict = f"**{one.verdict}**" if one.verdict == "fail" else one.verdict
        key, ask, because = map(_plain, (one.question.key, one.question.ask, one.because))
        lines.append(f"| {key} | {ask} | {verdict} | {because} |")
    lines += ["", "## Evidence", ""]
    for one in review.answers:
        lines += [f"- {_plain(one.question.key)}: {_plain(proof_text(proof))}" for proof in one.found.proofs]
    if review.head:
        lines += ["", f"Head of the ledger: `{review.head}`"]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Text that stays in its cell and makes no markup, link or picture."""
    return re.sub(r"([\\`*\[\]|])", r"\\\1", " ".join(text.split())).replace("&", "&amp;").replace("<", "&lt;")
