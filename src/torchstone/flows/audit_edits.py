"""Edits of a text: where they lie in it, which of them go together, and the text with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# What ends a line for Python's parser; a form feed does not.
LINE_END = re.compile(r"\r\n|\r|\n")
# "line", "column", "end_line", "end_column" (lines from 1; columns in UTF-8 bytes from 0; ends exclusive) and "text".
Edit = Mapping[str, Any]


@dataclass(frozen=True)
class Span:
    """An edit as characters of the text: what stands from `start` to `end` (exclusive) becomes `text`."""

    start: int
    end: int
    text: str
    edit: Edit = field(compare=False, default_factory=dict)

    def clashes(self, other: Span) -> bool:
        """Whether both cannot be made: they share a character, or one inserts inside of what the other replaces."""
        if self == other:
            return False
        is_same_place = (self.start, self.end) == (other.start, other.end) and self.start < self.end
        return is_same_place or (self.start < other.end and other.start < self.end)


def chosen(text: str, groups: Iterable[Sequence[Edit]], is_sound: Callable[[str], bool]) -> tuple[list[Span], int]:
    """The edits to be made, in order of place, and how many groups are left out.

    A group is taken whole or not at all; earlier groups win over later ones. is_sound: asked about the whole text with
    the edits in place; where it says no, the groups are tried one by one, and those that spoil it are left out.
    """
    groups = list(groups)
    spans = [located(text, group) for group in groups]
    taken = _compatible(spans)
    if taken and not is_sound(replaced(text, _flat(taken))):
        taken = _sound(text, taken, is_sound)
    return _flat(taken), len(groups) - len(taken)


def _compatible(groups: Iterable[Sequence[Span] | None]) -> list[Sequence[Span]]:
    taken: list[Sequence[Span]] = []
    for group in groups:
        if group is None or _is_torn(group):
            continue
        if not any(span.clashes(other) for span in group for others in taken for other in others):
            taken.append(group)
    return taken


def _is_torn(group: Sequence[Span]) -> bool:
    """Whether edits of one group overlap each other."""
    return any(span.clashes(other) for number, span in enumerate(group) for other in group[:number])


def _sound(text: str, groups: Iterable[Sequence[Span]], is_sound: Callable[[str], bool]) -> list[Sequence[Span]]:
    kept: list[Sequence[Span]] = []
    for group in groups:
        if is_sound(replaced(text, _flat([*kept, group]))):
            kept.append(group)
    return kept


def _flat(groups: Iterable[Sequence[Span]]) -> list[Span]:
    """The edits of all groups in order of place, each once, without those that change nothing."""
    every = dict.fromkeys(span for group in groups for span in group)
    return sorted(every, key=lambda span: (span.start, span.end))


def replaced(text: str, spans: Sequence[Span]) -> str:
    """The text with spans that do not overlap, given in order of place, replaced."""
    parts, last = [], 0
    for span in spans:
        parts += [text[last:span.start], span.text]
        last = span.end
    return "".join([*parts, text[last:]])


def located(text: str, edits: Sequence[Edit]) -> list[Span] | None:
    """The edits as spans of the text, those that change nothing left out; None where they cannot be made.

    They cannot where a place is not in the text, or where a comment between the lines of a call would be lost.
    Line ends in the new text become those of the text.
    """
    starts = [0, *(match.end() for match in LINE_END.finditer(text))]
    newline = match[0] if (match := LINE_END.search(text)) else "\n"
    spans = []
    for edit in edits:
        start = _offset(text, starts, edit["line"], edit["column"])
        end = _offset(text, starts, edit["end_line"], edit["end_column"])
        if start is None or end is None or end < start:
            return None
        old, new = text[start:end], LINE_END.sub(newline, edit["text"])
        if LINE_END.search(old) and "#" in old and "#" not in new:
            return None
        if old != new:
            spans.append(Span(start, end, new, edit))
    return spans


def _offset(text: str, starts: Sequence[int], line: int, column: int) -> int | None:
    """The character at a line and a column in UTF-8 bytes; None where there is none."""
    if not 1 <= line <= len(starts):
        return None
    end = starts[line] if line < len(starts) else len(text)
    data = LINE_END.sub("", text[starts[line - 1]:end]).encode("utf-8", "surrogatepass")
    try:
        return starts[line - 1] + len(data[:column].decode("utf-8", "surrogatepass")) if column <= len(data) else None
    except UnicodeDecodeError:
        return None
