"""Edits of a notebook: only the strings of its JSON that hold the edited lines change, all else stays byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from torchstone.flows.audit_edits import Edit, Span, located
from torchstone.parts.source.notebook import Cell

_SPACE = re.compile(r"[ \t\r\n]*")
_JSON = json.JSONDecoder(strict=False)
_ATOM = re.compile(r"[^\s,\]}]+")
Path = tuple[str | int, ...]


class NotEditable(Exception):
    """A notebook whose strings cannot be found in its text."""


@dataclass(frozen=True)
class Piece:
    """A string of the JSON: where its token stands in the file's text, and what it says."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Stored:
    """A code cell as stored: its first line in the notebook's code, the pieces of its source, and what may be edited.

    open: the lines of the code (from 1) that stand in the cell as they stand in the code; magics do not.
    """

    first_line: int
    pieces: tuple[Piece, ...]
    open: frozenset[int]

    @property
    def text(self) -> str:
        """The source of the cell."""
        return "".join(piece.text for piece in self.pieces)

    def holds(self, edit: Edit) -> bool:
        """Whether an edit lies in lines of this cell that may be edited."""
        return all(line in self.open for line in range(edit["line"], edit["end_line"] + 1))


def editable(raw: str, code: str, cells: Sequence[Cell]) -> list[Stored]:
    """The code cells of a notebook with the places of their strings. raw: the file's text; code: of `code_of`.

    Raises NotEditable where the JSON is nested too deep.
    """
    found: dict[Path, Piece] = {}
    try:
        _walk(raw, int(raw.startswith("\ufeff")), (), found)
    except RecursionError as error:
        raise NotEditable("nested too deep") from error
    lines = code.split("\n")
    stored = []
    for cell in cells:
        here: Path = ("cells", cell.number - 1, "source")
        whole = found.get(here)
        pieces = (whole,) if whole else tuple(piece for path, piece in found.items() if path[:-1] == here)
        own = "".join(piece.text for piece in pieces).replace("\r\n", "\n").split("\n") if pieces else []
        same = (n for n, line in enumerate(own, cell.first_line) if "\r" not in line and lines[n - 1] == line)
        stored.append(Stored(cell.first_line, pieces, frozenset(same)))
    return stored


def _walk(raw: str, at: int, path: Path, found: dict[Path, Piece]) -> int:
    """Notes the strings of a JSON value that begins at `at`, those of cells' sources only; returns where it ends."""
    at = _skip(raw, at)
    if raw[at] == '"':
        text, end = _string(raw, at)
        if path[:1] == ("cells",) and path[2:3] == ("source",):
            found[path] = Piece(at, end, text)
        return end
    if raw[at] not in "{[":
        return _ATOM.match(raw, at).end()  # type: ignore[union-attr]  # the text was read as JSON before
    is_object, at, number = raw[at] == "{", _skip(raw, at + 1), 0
    while raw[at] not in "}]":
        key: str | int = number
        if is_object:
            key, at = _string(raw, at)
            at = _skip(raw, at) + 1
        at = _skip(raw, _walk(raw, at, (*path, key), found))
        at = _skip(raw, at + 1) if raw[at] == "," else at
        number += 1
    return at + 1


def _string(raw: str, at: int) -> tuple[str, int]:
    """The string whose quotation mark stands at `at`, and where its token ends."""
    text, end = _JSON.raw_decode(raw, at)
    return str(text), end


def _skip(raw: str, at: int) -> int:
    return _SPACE.match(raw, at).end()  # type: ignore[union-attr]  # matches the empty text too


def with_edits(raw: str, stored: Sequence[Stored], edits: Sequence[Edit]) -> str:
    """The file's text with edits of the code written into the strings of its cells; they must not overlap."""
    changes: list[tuple[int, int, str]] = []
    for cell in stored:
        own = [_moved(edit, 1 - cell.first_line) for edit in edits if cell.holds(edit)]
        spans = located(cell.text, own) or []
        pieces = _changed(list(cell.pieces), sorted(spans, key=lambda span: (span.start, span.end)))
        between = raw[cell.pieces[0].end:cell.pieces[1].start] if len(cell.pieces) > 1 else ", "
        changes += [(piece.start, piece.end, _token(raw, piece, between if len(cell.pieces) > 1 else None))
                    for piece in pieces if piece not in cell.pieces]  # fmt: skip
    for start, end, token in sorted(changes, reverse=True):
        raw = raw[:start] + token + raw[end:]
    return raw


def _moved(edit: Edit, by: int) -> dict[str, Any]:
    return {**edit, "line": edit["line"] + by, "end_line": edit["end_line"] + by}


def _changed(pieces: list[Piece], spans: Sequence[Span]) -> list[Piece]:
    """The pieces with spans of their joined text replaced; pieces that one span reaches over become one."""
    for span in reversed(spans):
        begin, first = 0, 0
        while span.start > begin + len(pieces[first].text) or (
            span.start == begin + len(pieces[first].text) and span.end > span.start
        ):
            begin, first = begin + len(pieces[first].text), first + 1
        last, text = first, pieces[first].text
        while span.end > begin + len(text):
            last += 1
            text += pieces[last].text
        text = text[:span.start - begin] + span.text + text[span.end - begin:]
        pieces[first:last + 1] = [replace(pieces[first], end=pieces[last].end, text=text)]
    return pieces


def _token(raw: str, piece: Piece, between: str | None) -> str:
    """A piece as JSON, escaped as the old one was; in a list of lines (between: what parts them) one string a line."""
    is_ascii = raw[piece.start:piece.end].isascii()
    texts = piece.text.splitlines(keepends=True) if between and "\n" in piece.text[:-1] else [piece.text]
    return (between or "").join(json.dumps(text, ensure_ascii=is_ascii) for text in texts)
