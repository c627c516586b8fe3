"""Whether the first row names the columns, and what they are called."""

from __future__ import annotations

from torchstone.parts.columns.missing import is_missing
from torchstone.parts.columns.numbers import number

_SAMPLE_ROWS = 1000


def is_header(rows: list[list[str]]) -> bool:
    """Whether the first row holds names.

    It holds data where one of its cells is a number above numbers, or comes again at least twice below in its own
    column. Rows equal to the first do not count as "again": headers are repeated where files were joined.
    """
    first, below = rows[0], rows[1:_SAMPLE_ROWS]
    if not below:
        return not any(number(cell) is not None for cell in first)
    return not any(_is_data(cell, [row[j] for row in below if row != first]) for j, cell in enumerate(first))


def _is_data(cell: str, below: list[str]) -> bool:
    if is_missing(cell):
        return False
    if number(cell) is not None:
        present = [other for other in below if not is_missing(other)]
        return bool(present) and sum(number(other) is not None for other in present) > 0.9 * len(present)
    return below.count(cell) >= 2


def header_names(first: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Unique column names, without blanks around them, and (written, used) of those that had to be changed.

    A missing name becomes `column_3` by its place; a name used twice becomes `age_2`.
    """
    names: list[str] = []
    renamed: list[tuple[str, str]] = []
    taken = {cell.strip() for cell in first}
    for place, cell in enumerate(first, start=1):
        written = cell.strip()
        stem = written or f"column_{place}"
        name, count = stem, 2
        while name in names or (name != written and name in taken):
            name, count = f"{stem}_{count}", count + 1
        if name != written:
            renamed.append((written, name))
        names.append(name)
    return names, renamed
