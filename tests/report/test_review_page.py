"""A review as a person reads it: lines, a page and a card that hold every answer and run nothing of what they quote."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from torchstone.core.finding import Finding, Where
from torchstone.flows.checklist import read_checklist
from torchstone.flows.review import Review, review, say
from torchstone.report.review import SHOWN, card_text, proof_text, render_review, review_rows
from torchstone.rules.review._toy import run

EVIL = '<script>alert("x")</script><img src=http://a.b/c> | [x](http://a.b) ![y](z) `q` &amp; \x1b[2J'
TWENTY = read_checklist()


class Reader(HTMLParser):
    """Notes tags and what they point to."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One tag."""
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]


@pytest.fixture
def reviewed(tmp_path: Path) -> Review:
    """A run whose names, findings and people are hostile."""
    sick = run(name=EVIL, folder=EVIL, status=EVIL, findings=[Finding("DAT202", "warning", EVIL, EVIL, EVIL,
                                                                      Where(path=EVIL))])  # fmt: skip
    say(TWENTY, "Q9", {"verdict": "pass", "by": EVIL, "reason": EVIL}, project=tmp_path, run="r", mark="m")
    return review(sick, TWENTY, project=tmp_path, mark="m")


def test_lines_hold_each_question_its_answer_its_first_proofs_and_what_is_next(tmp_path: Path) -> None:
    rows = list(review_rows(review(run(), TWENTY, project=tmp_path, mark="m")))
    for question in TWENTY.questions:
        own = [row.text for row in rows if row.label == question.key]
        assert question.ask in own[0]
        assert len(own) <= 2 + SHOWN
    assert re.fullmatch(r"\d+ needs a person · \d+ pass · \d+ not applicable", rows[-2].text)
    assert "--answer Q" in rows[-1].text


def test_the_page_runs_and_loads_nothing_of_what_it_quotes(reviewed: Review) -> None:
    page = render_review(reviewed)
    reader = Reader()
    reader.feed(page)
    assert "img" not in reader.tags
    assert 'alert("x")' not in page
    assert all(link.startswith(("#", "data:")) for link in reader.links)
    assert page.count('class="card" id="Q') == 20
    assert f"Head of the ledger: <code>{reviewed.head}</code>" in page


def test_the_card_keeps_cells_apart_and_makes_no_link_or_markup(reviewed: Review) -> None:
    card = card_text(reviewed)
    rows = [line for line in card.splitlines() if line.startswith("| Q")]
    assert [re.split(r"(?<!\\)\|", row)[1].strip() for row in rows] == [f"Q{n}" for n in range(1, 21)]
    assert all(len(re.split(r"(?<!\\)\|", row)) == 6 for row in rows)
    assert "**fail**" in card
    assert "<script" not in card
    assert "<img" not in card
    assert not re.search(r"(?<!\\)\]\(", card)
    assert "&amp;amp;" in card  # what was written stands there as it was written


def test_a_person_s_word_stands_beside_what_the_files_say(reviewed: Review) -> None:
    texts = [row.text for row in review_rows(reviewed) if row.label == "Q9"]
    assert texts[0].startswith("pass")
    assert any("the files say needs a person" in text for text in texts)
    assert "The files say needs a person" in render_review(reviewed)
    assert not any("\x1b" in row.text for row in review_rows(reviewed) if row.label == "Q9")


def test_a_proof_tells_file_and_line_once() -> None:
    answer = review(run(), TWENTY, project=Path("/nowhere"), mark="m").answers[6]
    text = proof_text(answer.found.proofs[0])
    assert re.match(r"plan\.yaml:\d+  train\.precision = fp32 \(derived\)", text)
