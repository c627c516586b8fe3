"""Edits of a text: their places, which go together, and what comes out."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from torchstone.flows.audit_edits import Span, chosen, located, replaced

LINES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n#"), max_size=12), min_size=1, max_size=8)


def edit(line: int, column: int, end_line: int, end_column: int, text: str) -> dict[str, Any]:
    return {"line": line, "column": column, "end_line": end_line, "end_column": end_column, "text": text}


def always(text: str) -> bool:
    return True


@st.composite
def texts_with_edits(draw: st.DrawFn) -> tuple[str, list[tuple[int, int, str]], str]:
    """A text of `\\n` lines, edits of it as (start, end, new) in characters that do not overlap, and a line end."""
    text = "\n".join(draw(LINES))
    points = draw(st.lists(st.integers(0, len(text)), max_size=8, unique=True))
    points = sorted(points)[: len(points) // 2 * 2]
    news = [draw(st.text("abc\né", max_size=5)) for _ in points[::2]]
    return text, list(zip(points[::2], points[1::2], news, strict=True)), draw(st.sampled_from(["\n", "\r\n"]))


def as_edit(text: str, start: int, end: int, new: str) -> dict[str, Any]:
    """Characters as lines and UTF-8 columns, worked out with str methods alone."""
    def at(place: int) -> tuple[int, int]:
        before = text[:place]
        return before.count("\n") + 1, len(before.rpartition("\n")[2].encode())

    return edit(*at(start), *at(end), new)


@given(texts_with_edits())
def test_edits_that_do_not_overlap_equal_replacement_from_the_back(drawn) -> None:
    text, changes, newline = drawn
    expected = text
    for start, end, new in reversed(changes):
        expected = expected[:start] + new + expected[end:]
    crlf = text.replace("\n", newline)
    spans, left = chosen(crlf, [[as_edit(text, *change)] for change in changes], always)
    if newline in crlf:
        assert replaced(crlf, spans) == expected.replace("\n", newline)
    else:
        assert replaced(crlf, spans) == expected
    assert left == 0


@given(texts_with_edits(), st.randoms())
def test_the_order_in_which_edits_are_given_changes_nothing(drawn, random) -> None:
    text, changes, _ = drawn
    groups = [[as_edit(text, *change)] for change in changes]
    shuffled = random.sample(groups, len(groups))
    assert replaced(text, chosen(text, groups, always)[0]) == replaced(text, chosen(text, shuffled, always)[0])


def test_of_two_groups_that_overlap_the_first_is_made_whole_and_the_second_not_at_all() -> None:
    text = "f(a, b)\ng(c)\n"
    first, second = [edit(1, 2, 1, 3, "x")], [edit(1, 0, 1, 4, "h("), edit(2, 0, 2, 1, "k")]
    spans, left = chosen(text, [first, second], always)
    assert (replaced(text, spans), left) == ("f(x, b)\ng(c)\n", 1)


def test_the_same_edit_of_two_findings_is_made_once() -> None:
    one = edit(1, 2, 1, 3, "x")
    spans, left = chosen("f(a)\n", [[one], [dict(one)]], always)
    assert (replaced("f(a)\n", spans), left) == ("f(x)\n", 0)


def test_two_texts_for_one_place_clash_and_two_insertions_at_one_place_do_not() -> None:
    assert chosen("f(a)", [[edit(1, 2, 1, 3, "x")], [edit(1, 2, 1, 3, "y")]], always)[1] == 1
    spans, left = chosen("f(a)", [[edit(1, 3, 1, 3, ", b=1")], [edit(1, 3, 1, 3, ", c=2")]], always)
    assert (replaced("f(a)", spans), left) == ("f(a, b=1, c=2)", 0)


def test_a_group_that_spoils_the_text_is_left_out_and_the_others_are_made() -> None:
    groups = [[edit(1, 0, 1, 1, "x")], [edit(1, 4, 1, 5, "(")]]
    spans, left = chosen("a = b", groups, lambda text: "(" not in text)
    assert (replaced("a = b", spans), left) == ("x = b", 1)


def test_a_place_that_is_not_in_the_text_gives_none() -> None:
    for wrong in ((3, 0, 3, 1), (1, 9, 1, 9), (1, 1, 1, 2), (1, 3, 1, 0), (0, 0, 1, 0)):
        assert located("éab", [edit(*wrong, "")]) is None


def test_columns_are_bytes_and_a_form_feed_ends_no_line() -> None:
    assert located("é\fx = y\n", [edit(1, 7, 1, 8, "z")]) == [Span(6, 7, "z")]


def test_a_comment_inside_of_a_call_is_never_lost() -> None:
    text = "f(\n    a,  # the first\n    b)\n"
    assert chosen(text, [[edit(1, 0, 3, 6, "g(a, b)")]], always) == ([], 1)
