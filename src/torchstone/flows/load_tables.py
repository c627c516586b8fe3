"""Reads table files and puts their rows together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torchstone.core.dataset import Split
from torchstone.core.errors import StoneError
from torchstone.core.records import Cell, ReadReport, Records, Table
from torchstone.flows.find_files import TableFile, cannot_read
from torchstone.parts.formats.content import HEAD_BYTES, content
from torchstone.parts.formats.delimited import read_delimited
from torchstone.parts.formats.encoding import decode
from torchstone.parts.formats.json_rows import read_json_rows
from torchstone.parts.formats.parquet import read_parquet


@dataclass(frozen=True)
class Loaded:
    """One table file: its name, the split that its name says, its cells, the SHA-256 of its bytes."""

    name: str
    split: Split | None
    table: Table
    digest: str


def load_tables(files: Sequence[TableFile], report: ReadReport) -> list[Loaded]:
    """Every file's table, in the given order; what was unusual goes to `report`."""
    return [_load(file, report) for file in files]


def _load(file: TableFile, report: ReadReport) -> Loaded:
    name = file.path.name
    try:
        data = file.path.read_bytes()
    except OSError as error:
        raise cannot_read(file.path, error) from error
    if not data:
        fix = "give a table with a header and rows"
        raise StoneError("the file is empty (0 bytes)", where=str(file.path), fix=fix)
    table = parse_table(data, name, report)
    report.renamed += [(name, old, new) for old, new in table.renamed]
    report.headerless += [] if table.has_header else [name]
    report.blanks += [name] if table.blanks else []
    report.loose_quotes += [name] if table.loose_quotes else []
    return Loaded(name, file.split, table, hashlib.sha256(data).hexdigest())


def parse_table(data: bytes, name: str, report: ReadReport) -> Table:
    """The table in these bytes: Parquet, JSON or delimited by what the first bytes say, not by the name."""
    kind = content(data[:HEAD_BYTES])
    if kind == "parquet":
        return read_parquet(data, name)
    decoded = decode(data, name)
    if decoded.bad_line is not None:
        report.encodings.append((name, decoded.encoding, decoded.bad_line))
    if kind == "json" or (kind == "text" and content(decoded.text[:HEAD_BYTES].encode()) == "json"):
        return read_json_rows(decoded.text, name)
    return read_delimited(decoded.text, name)


def put_together(loaded: Sequence[Loaded], labels: Sequence[str], report: ReadReport) -> Records:
    """The rows of all files that have the label columns; the others are named in `report.unlabelled`.

    Raises StoneError where a later file lacks a column of the first.
    """
    usable = [one for one in loaded if all(label in one.table.columns for label in labels)]
    report.unlabelled += [one.name for one in loaded if one not in usable]
    first = usable[0]
    columns: dict[str, list[Cell]] = {name: [] for name in first.table.columns}
    for one in usable:
        lacking = [name for name in columns if name not in one.table.columns]
        if lacking:
            raise StoneError(
                f"lacks {len(lacking):,} columns that {first.name} has: {', '.join(lacking[:20])}",
                where=one.name,
                fix="give all files the same columns",
            )
        for name, cells in columns.items():
            cells.extend(one.table.columns[name])
    where = [f"{one.name}:{line}" for one in usable for line in one.table.lines]
    split: list[str | None] = [one.split for one in usable for _ in one.table.lines]
    return Records(columns, where, split, {one.name: one.digest for one in loaded})


def neighbours(folder: Path) -> list[Path]:
    """Where a table's pictures may lie: its own folder, then the folders in it, by name."""
    inside = [entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith(".")]
    return [folder, *sorted(inside)]
