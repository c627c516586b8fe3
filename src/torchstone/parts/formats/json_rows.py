"""JSON Lines and JSON arrays of objects: text to a table."""

from __future__ import annotations

import json
from typing import Any

from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.records import Table

SHOWN = 20


def read_json_rows(text: str, where: str) -> Table:
    """The table of one object per line, or of one array of objects; a key that an object lacks is None there.

    `lines` are line numbers for JSON Lines and places in the array (from 1) otherwise. Raises StoneErrors with
    file:line for lines that are no object, StoneError for a document that is no list of objects.
    """
    stripped = text.lstrip()
    if stripped.startswith("["):
        rows = _array(text, where)
        return _table(rows, list(range(1, len(rows) + 1)), where)
    try:
        return _table(*_objects(text, where), where)
    except StoneError as error:
        if "\n" in stripped.strip() and _is_document(text):
            raise StoneError(
                "the file is one JSON object; expected one object per line, or an array of objects",
                where=where,
                fix="write the list of records alone, or one record per line (.jsonl)",
            ) from error
        raise


def _is_document(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _array(text: str, where: str) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = json.loads(text)
    except ValueError as error:
        raise StoneError(f"not JSON: {error}", where=where, fix="mend the file at this place") from error
    wrong = [place for place, row in enumerate(rows, start=1) if not isinstance(row, dict)]
    if wrong:
        raise StoneError(
            f"{len(wrong):,} of {len(rows):,} entries of the array are no objects; the first is entry {wrong[0]}",
            where=where,
            fix='give objects such as {"text": "…", "label": "…"}',
        )
    return rows


def _objects(text: str, where: str) -> tuple[list[dict[str, Any]], list[int]]:
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    errors: list[StoneError] = []
    # Only line feeds end a line here: JSON strings may hold U+2028, which str.splitlines would cut at.
    for line, part in enumerate(text.split("\n"), start=1):
        if not part.strip():
            continue
        try:
            row = json.loads(part)
        except ValueError as error:
            errors.append(StoneError(f"not JSON: {error}", where=f"{where}:{line}"))
            continue
        if isinstance(row, dict):
            rows.append(row)
            lines.append(line)
        else:
            errors.append(StoneError(f"a {type(row).__name__}, not an object", where=f"{where}:{line}"))
    if errors:
        if len(errors) > SHOWN:
            errors[SHOWN:] = [StoneError(f"and {len(errors) - SHOWN:,} more such lines", where=where)]
        raise StoneErrors(errors)
    return rows, lines


def _table(rows: list[dict[str, Any]], lines: list[int], where: str) -> Table:
    if not rows:
        raise StoneError("the file holds no record", where=where, fix="give one JSON object per line")
    names = dict.fromkeys(name for row in rows for name in row)
    if not names:
        raise StoneError(f"all {len(rows):,} objects are empty", where=where, fix="give objects with keys and values")
    return Table({name: [row.get(name) for row in rows] for name in names}, lines)
