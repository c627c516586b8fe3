"""CSV, TSV and their kin: text to a table, with the line number of every row."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.records import Table
from torchstone.parts.formats.header import header_names, is_header

DELIMITERS = (",", ";", "\t", "|")
SHOWN = 20
_SAMPLE_CHARS = 65536


@dataclass(frozen=True)
class Dialect:
    """How a delimited text is cut. skip_blank: drop the blank after a delimiter; quotes: whether `"` encloses."""

    delimiter: str
    skip_blank: bool = False
    quotes: bool = True


def read_delimited(text: str, where: str, *, dialect: Dialect | None = None) -> Table:
    """The table in `text`; cells are str exactly as written, blank lines are passed over.

    dialect: None to find it out (see `sniff`). Raises StoneErrors with file:line of the ragged rows (the first 20 and
    a count), StoneError for a text without any row.
    """
    dialect = dialect or sniff(text)
    try:
        rows, lines = _cut(text, dialect)
    except csv.Error as error:
        dialect = Dialect(dialect.delimiter, dialect.skip_blank, quotes=False)
        rows, lines = _cut(text, dialect)
        if len({len(row) for row in rows}) > 1:
            raise _quote_error(error, where) from error
    if not rows:
        raise StoneError("the file holds no row", where=where, fix="give a table with a header and rows")
    _refuse_ragged(rows, lines, where)
    has_header = is_header(rows)
    names, renamed = header_names(rows[0] if has_header else [""] * len(rows[0]))
    if has_header:
        rows, lines = rows[1:], lines[1:]
        if not rows:
            raise StoneError("the file holds a header and no row", where=where, fix="add rows below the header")
    columns = dict(zip(names, (list(column) for column in zip(*rows, strict=True)), strict=True))
    return Table(
        columns,
        lines,
        renamed=tuple(renamed) if has_header else (),
        has_header=has_header,
        loose_quotes=not dialect.quotes,
        blanks=dialect.skip_blank,
    )


def sniff(text: str) -> Dialect:
    """The delimiter under which most of the first rows are as wide as the first one, and whether blanks follow it.

    Only delimiters that occur in the first row count; where none does, the table has one column. Quotation marks
    must pair in the sample for the rows to count.
    """
    sample = text[:_SAMPLE_CHARS]
    best, best_score = Dialect(","), (0.0, 0)
    for delimiter in DELIMITERS:
        rows = _sample_rows(sample, delimiter, is_whole=len(sample) == len(text))
        if not rows or len(rows[0]) < 2:
            continue
        score = (sum(len(row) == len(rows[0]) for row in rows) / len(rows), len(rows[0]))
        if score > best_score:
            later = [cell for row in rows for cell in row[1:]]
            skip = all(cell.startswith(" ") for cell in later)
            best, best_score = Dialect(delimiter, skip), score
    return best


def _sample_rows(sample: str, delimiter: str, *, is_whole: bool) -> list[list[str]]:
    rows = [row for row in _reader(sample, Dialect(delimiter), strict=False) if row]
    return rows if is_whole or len(rows) < 2 else rows[:-1]


def _reader(text: str, dialect: Dialect, *, strict: bool) -> Iterator[list[str]]:
    return csv.reader(
        io.StringIO(text, newline=""),
        delimiter=dialect.delimiter,
        skipinitialspace=dialect.skip_blank,
        quoting=csv.QUOTE_MINIMAL if dialect.quotes else csv.QUOTE_NONE,
        strict=strict,
    )


def _cut(text: str, dialect: Dialect) -> tuple[list[list[str]], list[int]]:
    limit = csv.field_size_limit(sys.maxsize)
    try:
        reader = _reader(text, dialect, strict=True)
        rows, lines, line = [], [], 1
        for row in reader:
            if row:
                rows.append(row)
                lines.append(line)
            line = reader.line_num + 1  # type: ignore[attr-defined]
        return rows, lines
    finally:
        csv.field_size_limit(limit)


def _quote_error(error: csv.Error, where: str) -> StoneError:
    return StoneError(
        f"quotation marks do not pair: {error}",
        where=where,
        fix='inside a quoted field write "" for a quotation mark, and close every quoted field',
    )


def _refuse_ragged(rows: list[list[str]], lines: list[int], where: str) -> None:
    width = len(rows[0])
    ragged = [(line, len(row)) for line, row in zip(lines, rows, strict=True) if len(row) != width]
    if not ragged:
        return
    errors = [
        StoneError(f"{found} fields where the first row has {width}", where=f"{where}:{line}")
        for line, found in ragged[:SHOWN]
    ]
    if len(ragged) > SHOWN:
        errors.append(StoneError(f"and {len(ragged) - SHOWN:,} more such rows", where=where))
    common = Counter(found for _, found in ragged).most_common(5)
    widths = ", ".join(f"{count:,} with {wide}" for wide, count in common)
    errors.append(
        StoneError(
            f"{len(ragged):,} of {len(rows):,} rows do not have {width} fields ({widths})",
            where=where,
            fix="a delimiter inside a field needs quotation marks around the field; mend these rows and run again",
        )
    )
    raise StoneErrors(errors)
