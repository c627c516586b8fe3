"""Where a finding about code stands in its file, as editors and services count: line, column, and the line's text."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torchstone.core.finding import Finding
from torchstone.flows.audit_edits import LINE_END
from torchstone.flows.audit_notebook import NotEditable, editable
from torchstone.parts.source.module import UnreadableSource
from torchstone.parts.source.notebook import code_of


@dataclass(frozen=True)
class Place:
    """A line of a file with the columns of its statement, all from 1 and in characters; the end is exclusive.

    line, column, end_column: 0 where the finding is about the whole file. text: the line without its indentation.
    cell: "cell 3, line 2" in a notebook, whose `line` is that of the stored file; elsewhere empty.
    """

    path: str
    line: int = 0
    column: int = 0
    end_column: int = 0
    text: str = ""
    cell: str = ""

    def __str__(self) -> str:
        if self.cell:
            return f"{self.path}, {self.cell}"
        return ":".join(str(part) for part in (self.path, self.line, self.column) if part)


def places(findings: Sequence[Finding]) -> list[Place]:
    """The place of each finding; a file that cannot be read any more gives its line alone."""
    files = {path: _File(path) for path in {finding.where.path for finding in findings} if path}
    return [files[finding.where.path].place(finding) if finding.where.path else Place("") for finding in findings]


class _File:
    """The lines of a file as the reader counts them, and in a notebook the line of the file behind each."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines: list[str] = []
        self.stored: dict[int, int] = {}
        try:
            data = Path(path).read_bytes()
            if path.endswith(".ipynb"):
                self._read_notebook(data)
            else:
                encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
                self.lines = LINE_END.split(data.decode(encoding))
        except (OSError, SyntaxError, UnicodeDecodeError, UnreadableSource, NotEditable):
            self.lines = []

    def _read_notebook(self, data: bytes) -> None:
        code, cells = code_of(data, UnreadableSource)
        raw = data.decode("utf-8")
        for cell in editable(raw, code, cells):
            number = cell.first_line
            for piece in cell.pieces:
                self.stored[number] = raw.count("\n", 0, piece.start) + 1
                number += piece.text.count("\n")
        self.lines = code.split("\n")

    def place(self, finding: Finding) -> Place:
        line, cell = finding.where.line or 0, finding.where.field or ""
        text = self.lines[line - 1] if 1 <= line <= len(self.lines) else ""
        bare = text.strip()
        if cell or self.path.endswith(".ipynb"):
            known = max((number for number in self.stored if number <= line), default=0)
            return Place(self.path, self.stored.get(known, 0), 0, 0, bare, cell)
        if not bare:
            return Place(self.path, line)
        column = len(text) - len(text.lstrip()) + 1
        return Place(self.path, line, column, column + len(bare), bare)
