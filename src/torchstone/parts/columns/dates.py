"""Cells to points in time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from torchstone.core.records import Cell
from torchstone.parts.columns.missing import is_missing

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?")
_CLOCKS = ("", " %H:%M", " %H:%M:%S")
# Month first before day first: where both fit every cell the choice is said in the reason.
_FORMATS = (
    ("%Y/%m/%d", "year/month/day"),
    ("%d.%m.%Y", "day.month.year"),
    ("%m/%d/%Y", "month/day/year"),
    ("%d/%m/%Y", "day/month/year"),
)
_NUMERIC = re.compile(r"\d{1,4}[./]\d{1,2}[./]\d{1,4}( \d{1,2}:\d{2}(:\d{2})?)?")


def read_dates(cells: Sequence[Cell]) -> tuple[list[float], str] | None:
    """Seconds since 1970-01-01 UTC (NaN where missing) and how the dates were read; None where a cell is no date.

    Read are ISO 8601, and year/month/day, day.month.year, month/day/year, day/month/year with or without a clock.
    A time without a zone counts as UTC.
    """
    texts = [None if is_missing(cell) else cell for cell in cells]
    present = [text for text in texts if text is not None]
    if not present or not all(isinstance(text, str) for text in present):
        return None
    if _ISO.fullmatch(present[0].strip()):
        return _all(texts, datetime.fromisoformat, "ISO 8601")
    if not _NUMERIC.fullmatch(present[0].strip()):
        return None
    fitting = [
        found
        for pattern, name in _FORMATS
        for clock in _CLOCKS
        if (found := _all(texts, _reader(pattern + clock), name)) is not None
    ]
    if not fitting:
        return None
    values, name = fitting[0]
    return values, name + (f" ({fitting[1][1]} would fit as well)" if len(fitting) > 1 else "")


def _reader(pattern: str) -> Callable[[str], datetime]:
    return lambda text: datetime.strptime(text, pattern)


def _all(
    texts: Sequence[str | None], read: Callable[[str], datetime], name: str
) -> tuple[list[float], str] | None:
    seconds: list[float] = []
    for text in texts:
        if text is None:
            seconds.append(float("nan"))
            continue
        try:
            moment = read(text.strip())
        except ValueError:
            return None
        seconds.append((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    return seconds, name
