"""Tables of losses: CSV and its kin, JSON Lines, trainer_state.json of transformers, histories as JSON."""

from __future__ import annotations

import csv
import itertools
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from torchstone.core.errors import StoneError
from torchstone.flows.name_curves import tokens
from torchstone.flows.read_curves_points import Log, Points, series_of
from torchstone.parts.formats.delimited import sniff
from torchstone.parts.formats.header import header_names, is_header

# Columns that say where a row stands, the finest first.
AXES = ("step", "global step", "trainer global step", "iteration", "iter", "it", "n iter", "epoch", "epochs", "round")
# A JSON document is read as a whole; larger ones are no log of losses.
LARGEST_JSON = 256 * 2**20
_HEAD_ROWS = 200
# A number as people print it: 0.5, 0,5, 93.5 %, tensor(0.69, device='cuda:0').
_NUMBER = re.compile(r"\s*(?:tensor\()?\s*([-+]?(?:\d+[.,]?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?|inf(?:inity)?|nan))"
                     r"\s*(?:%|,.*\)|\))?\s*", re.IGNORECASE)  # fmt: skip

Row = Mapping[str, Any]


def read_delimited_log(path: Path) -> Log:
    """The number columns of a CSV or TSV file with a header. Raises StoneError where it has none, or no row."""
    with open(path, encoding=_encoding(path), errors="replace", newline="") as file:
        head = file.read(65536)
        if "\0" in head:
            raise StoneError("this is a binary file of no kind that is known here", where=str(path), fix=KINDS)
        dialect = sniff(head)
        lines = itertools.chain(head.splitlines(keepends=True)[:-1], _rest(head, file))
        limit = csv.field_size_limit(sys.maxsize)
        try:
            rows = csv.reader((line.replace("\0", "") for line in lines), delimiter=dialect.delimiter,
                              skipinitialspace=True)
            return _log_of(path, "table", _named(rows, path))
        except csv.Error as error:
            raise StoneError(f"not a table: {error}", where=str(path), fix=KINDS) from error
        finally:
            csv.field_size_limit(limit)


KINDS = ("give a run of torchstone, rows of torchstone watch, TensorBoard's event files, a run of MLflow, or a CSV, "
         "TSV or JSONL of losses with a header")


def _encoding(path: Path) -> str:
    with open(path, "rb") as file:
        head = file.read(2)
    return "utf-16" if head in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def _rest(head: str, file: Iterable[str]) -> Iterator[str]:
    """The lines after those that are whole in `head`."""
    last = head.splitlines(keepends=True)[-1:]
    lines = iter(file)
    if last and not last[0].endswith("\n"):
        yield last[0] + next(lines, "")
    else:
        yield from last
    yield from lines


def _named(rows: Iterator[list[str]], path: Path) -> Iterator[Row]:
    head = [row for row in itertools.islice(rows, _HEAD_ROWS) if row]
    if not head:
        raise StoneError("the file is empty", where=str(path), fix=KINDS)
    head[0][0] = head[0][0].lstrip("# ")
    whole = [row for row in head if len(row) == len(head[0])]
    if not is_header(whole) or all(number(cell) is not None for cell in head[0]):
        raise StoneError(f"the first row names no columns: {', '.join(head[0][:6])[:80]}", where=f"{path}:1",
                         fix="write a header above it, such as: step,train_loss,val_loss")
    names, _ = header_names(head[0])
    for row in itertools.chain(head[1:], rows):
        if row and row != head[0]:
            yield dict(zip(names, row, strict=False))


def read_json_lines(path: Path) -> Log:
    """The numbers of one JSON object a line; other lines are counted, and a torn last one is left out."""
    bad: list[int] = []

    def rows() -> Iterator[Row]:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            for place, line in enumerate(file, start=1):
                row = _object(line)
                if row is not None:
                    yield _flat(row)
                elif line.strip():
                    bad.append(place)

    log = _log_of(path, "JSON lines", rows())
    note = (f"{len(bad):,} lines are no JSON object, the first is line {bad[0]}",) if bad else ()
    return Log(log.name, log.kind, log.series, (*note, *log.notes))


def read_json(path: Path) -> Log:
    """A JSON document: log_history of transformers, a list of objects, or lists by name as a History of Keras.

    Raises StoneError for any other.
    """
    if path.stat().st_size > LARGEST_JSON:
        raise StoneError(f"{path.stat().st_size / 2**20:,.0f} MiB are too much for one JSON document", where=str(path),
                         fix="write one object a line (.jsonl)")
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig", errors="replace"))
    except (ValueError, RecursionError) as error:
        raise StoneError(f"not JSON: {error}", where=str(path), fix="copy the file again") from error
    if isinstance(document, dict) and isinstance(document.get("log_history"), list):
        return _log_of(path, "trainer_state.json", _objects(document["log_history"]))
    if isinstance(document, list):
        return _log_of(path, "JSON", _objects(document))
    entries = document.items() if isinstance(document, dict) else ()
    lists = {name: value for name, value in entries if isinstance(value, list)}
    if not lists:
        raise StoneError("this JSON holds no list of numbers", where=str(path), fix=KINDS)
    rows = itertools.zip_longest(*lists.values())
    return _log_of(path, "JSON", (dict(zip(lists, row, strict=True)) for row in rows))


def _objects(entries: list[Any]) -> Iterator[Row]:
    return (_flat(entry) for entry in entries if isinstance(entry, dict))


def _object(line: str) -> Row | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _flat(row: Row) -> Row:
    """Objects in an object, as `metrics/loss`."""
    if not any(isinstance(value, dict) for value in row.values()):
        return row
    return {f"{key}/{name}" if name else key: inner for key, value in row.items()
            for name, inner in (value.items() if isinstance(value, dict) else [("", value)])}  # fmt: skip


def number(cell: Any) -> float | None:
    """The number that a cell holds, NaN and infinity too; None for an empty one and for any other text."""
    if isinstance(cell, (int, float)) and not isinstance(cell, bool):
        try:
            return float(cell)
        except OverflowError:
            return math.inf if cell > 0 else -math.inf
    if not isinstance(cell, str):
        return None
    try:
        return float(cell)
    except ValueError:
        found = _NUMBER.fullmatch(cell)
        return float(found[1].replace(",", ".")) if found else None


def _log_of(path: Path, kind: str, rows: Iterable[Row]) -> Log:
    """A log of the columns that hold numbers, each over the best axis; raises StoneError where there is none."""
    columns: dict[str, Points] = {}
    odd: dict[str, tuple[int, str]] = {}
    count = 0
    for count, row in enumerate(rows, start=1):
        for name, cell in row.items():
            value = number(cell)
            if value is not None:
                columns.setdefault(name, Points()).add(float(count), value)
            elif isinstance(cell, str) and cell.strip():
                odd.setdefault(name, (count, cell.strip()[:30]))
    axis = _axis(columns, count)
    if not columns.keys() - {axis}:
        beside = f" beside '{axis}'" if axis else ""
        raise StoneError(f"no column of numbers in {count:,} rows{beside}", where=str(path), fix=KINDS)
    columns = {name: _without_gaps(points) for name, points in columns.items()}
    series, notes = series_of({name: _moved(points, columns.get(axis or "")) for name, points in columns.items()})
    told = [f"{name}: row {row} holds no number: '{cell}'" for name, (row, cell) in odd.items() if name in columns]
    return Log(str(path), kind, {name: one for name, one in series.items() if name != axis}, (*told[:5], *notes))


def _axis(columns: Mapping[str, Points], count: int) -> str | None:
    """The finest column by which the rows are counted; None where they are best counted themselves."""
    for wanted in AXES:
        for name, points in columns.items():
            if " ".join(tokens(name)) == wanted and points.num >= 0.9 * count and points.one_in == 1:
                backs = sum(b < a for a, b in itertools.pairwise(points.values))
                if backs <= max(3, 0.05 * points.num):
                    return name
    return None


def _without_gaps(points: Points) -> Points:
    """A column in which NaN stands for what was not measured: many, and numbers after them."""
    bad = [math.isnan(value) for value in points.values]
    last = max((place for place, is_bad in enumerate(bad) if not is_bad), default=-1)
    if sum(bad[: last + 1]) <= 0.2 * len(bad) or points.one_in > 1:
        return points
    kept = Points()
    for step, value, is_bad in zip(points.steps, points.values, bad, strict=True):
        if not is_bad or step > points.steps[last]:
            kept.add(step, value)
    return kept


def _moved(points: Points, axis: Points | None) -> Points:
    """A column over the axis instead of the numbers of its rows; a row without an axis has that of the row before."""
    if axis is None or axis is points or points.one_in > 1:
        return points
    moved, place = Points(), 0
    for row, value in zip(points.steps, points.values, strict=True):
        while place + 1 < len(axis.steps) and axis.steps[place + 1] <= row:
            place += 1
        moved.add(axis.values[place], value)
    return moved
