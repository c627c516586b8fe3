"""Parquet: bytes to a table."""

from __future__ import annotations

import io
from datetime import date, datetime

from torchstone.core.errors import StoneError
from torchstone.core.records import Cell, Table


def read_parquet(data: bytes, where: str) -> Table:
    """The table of a Parquet file; `lines` are row numbers from 1. Dates and times become ISO text.

    Raises StoneError where the file cannot be read or holds no row.
    """
    import polars

    try:
        frame = polars.read_parquet(io.BytesIO(data))
    except Exception as error:  # polars raises its own and Rust's panics for broken files
        raise StoneError(f"cannot be read as Parquet: {error}", where=where, fix="write the file again") from error
    if frame.height == 0:
        raise StoneError("the file holds no row", where=where, fix="give a table with rows")
    columns = {name: _cells(frame[name].to_list()) for name in frame.columns}
    return Table(columns, list(range(1, frame.height + 1)))


def _cells(values: list[Cell]) -> list[Cell]:
    first = next((value for value in values if value is not None), None)
    if isinstance(first, (date, datetime)):
        return [None if value is None else value.isoformat() for value in values]
    return values
