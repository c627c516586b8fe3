"""A checklist of one's own, and every mistake in it at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchstone.core.errors import StoneError
from torchstone.flows.checklist import proofs, read_checklist


def written(tmp_path, text):
    path = tmp_path / "list.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_packaged_one_has_twenty_questions_each_with_a_proof_of_its_own():
    checklist = read_checklist()
    assert checklist.name == "twenty"
    assert [question.key for question in checklist.questions] == [f"Q{n}" for n in range(1, 21)]
    assert sorted(question.proof for question in checklist.questions) == sorted(proofs())


def test_one_s_own_holds_codes_questions_and_options(tmp_path):
    text = """
name: release
questions:
  - DAT202
  - REV111
  - key: R1
    ask: Were the licences of the data checked?
    why: they forbid some uses
    source: our lawyers
  - {key: R2, ask: "Is it clean?", rules: [DAT201, DAT202]}
  - key: R3
    ask: Do they agree?
    proof: REV109
    options: {production: 0.9, purpose: train}
"""
    release = read_checklist(written(tmp_path, text))
    assert release.name == "release"
    assert [(q.key, q.rules, q.proof) for q in release.questions] == [
        ("DAT202", ("DAT202",), ""), ("REV111", (), "REV111"), ("R1", (), ""), ("R2", ("DAT201", "DAT202"), ""),
        ("R3", (), "REV109"),
    ]  # fmt: skip
    assert release.questions[0].ask == "Is it free of this: an example is in two parts of the split?"
    assert release.questions[4].options == {"production": 0.9, "purpose": "train"}


def test_the_one_of_the_page_about_reviews_is_right(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "review.md").read_text(encoding="utf-8")
    release = read_checklist(written(tmp_path, page.partition("```yaml\n")[2].partition("```")[0]))
    assert [question.key for question in release.questions] == ["DAT202", "REV111", "R1", "R2", "R3"]


def test_the_page_tells_what_answers_each_question_and_how_many_an_audit_can_refuse():
    page = (Path(__file__).parents[2] / "docs" / "review.md").read_text(encoding="utf-8")
    twenty = read_checklist().questions
    assert all(f"| {question.key} | " in page for question in twenty)
    audited = sum(any(code.startswith("COD") for code in question.rules) for question in twenty)
    assert audited == 10
    assert "can say no to ten of them" in page


def test_all_mistakes_are_told_at_once_each_with_its_line(tmp_path):
    text = """
questions:
  - {key: R1, ask: One, rules: [DAT20]}
  - {key: r1, ask: Two}
  - {key: R3, asks: Three}
  - {key: R4, ask: Four, proof: DAT202}
  - {key: R5, ask: Five, proof: REV109, options: {produktion: 0.9, train: high}}
  - REV999
  - 7
"""
    with pytest.raises(StoneError) as caught:
        read_checklist(written(tmp_path, text))
    said = str(caught.value)
    for line, words in ((3, "no rule has the code 'DAT20'"), (4, "the key 'r1' is given twice"),
                        (5, "there is no field 'asks' here"), (5, "a question needs a text 'ask'"),
                        (6, "no rule has the code 'DAT202'"), (7, "there is no field 'produktion' here"),
                        (7, "found 'high'; expected something like 0.7"), (8, "no rule has the code 'REV999'"),
                        (9, "a question is a code")):  # fmt: skip
        assert any(f"list.yaml:{line}" in row and words in row for row in said.splitlines()), (line, words, said)


@pytest.mark.parametrize("text", ["", "questions: []", "[1]", "questions: 7", "questions:\n\t- x", "a: b: c", "\x00"])
def test_what_is_no_checklist_is_told_with_its_name(tmp_path, text):
    with pytest.raises(StoneError, match=r"list\.yaml"):
        read_checklist(written(tmp_path, text))


def test_a_file_that_is_not_there_or_not_utf8_is_named(tmp_path):
    with pytest.raises(StoneError, match="cannot be read"):
        read_checklist(tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StoneError, match="not UTF-8"):
        read_checklist(tmp_path / "bad.yaml")
