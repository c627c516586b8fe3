"""The code of a Jupyter notebook as one text, with the cell of each line."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

MAGIC = re.compile(r"^(\s*)([%!?]|\S+\?\s*$)")
ASSIGNED_MAGIC = re.compile(r"^(\s*[\w, ]+=\s*)[%!].*$")


@dataclass(frozen=True)
class Cell:
    """A code cell: its number among the notebook's cells, from 1, and its first line in the text, from 1."""

    number: int
    first_line: int


def code_of(data: bytes, unreadable: type[Exception]) -> tuple[str, tuple[Cell, ...]]:
    """The text of all code cells in order, magics blanked, and where each begins; raises `unreadable`(reason)."""
    try:
        book = json.loads(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise unreadable(f"not a notebook: {error}") from error
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        raise unreadable("not a notebook of format 4: it has no list 'cells'")
    lines: list[str] = []
    found = []
    for number, cell in enumerate(cells, 1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            found.append(Cell(number, len(lines) + 1))
            lines += _lines(cell.get("source"))
    return "\n".join(lines) + "\n", tuple(found)


def _lines(source: Any) -> list[str]:
    """A cell's lines; magics and shell calls become `pass` or None of the same line."""
    text = "".join(part for part in source if isinstance(part, str)) if isinstance(source, list) else str(source or "")
    lines = text.replace("\r\n", "\n").split("\n")
    if lines and lines[0].lstrip().startswith("%%") and not lines[0].lstrip().startswith(("%%time", "%%capture")):
        return ["pass"] + [""] * (len(lines) - 1)
    return [_without_magic(line) for line in lines]


def _without_magic(line: str) -> str:
    assigned = ASSIGNED_MAGIC.match(line)
    if assigned:
        return f"{assigned[1]}None"
    match = MAGIC.match(line)
    return f"{match[1]}pass" if match else line


def place(line: int, cells: tuple[Cell, ...]) -> str:
    """"cell 3, line 2" for a line of the text."""
    cell = max((cell for cell in cells if cell.first_line <= line), key=lambda cell: cell.first_line, default=None)
    return f"cell {cell.number}, line {line - cell.first_line + 1}" if cell else ""
