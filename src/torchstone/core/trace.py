"""The trace of a run: one JSON object per line, appended as the run goes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torchstone.core.errors import StoneError
from torchstone.core.store import clean, plain_os_errors, write_bytes


class TraceWriter:
    """Appends rows to a trace without slowing the loop: rows are kept as they are and turned into text at a flush.

    flush_every, flush_seconds: an `append` flushes when so many rows wait, or the last flush is so long ago.
    A torn last line that a killed run left behind is cut off when the file is opened. For one thread; after a
    fork only the opener may append. What waits is lost if the process is killed: flush before a checkpoint.
    """

    def __init__(self, path: Path, *, flush_every: int = 200, flush_seconds: float = 2.0) -> None:
        self.path = path
        self._flush_every = flush_every
        self._flush_seconds = flush_seconds
        self._rows: list[dict[str, Any]] = []
        self._due = time.monotonic() + flush_seconds
        with plain_os_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "r+b" if path.exists() else "w+b", buffering=0)  # noqa: SIM115  (lives as long as self)
            _cut_torn_line(self._file.fileno(), path)
            self._file.seek(0, os.SEEK_END)

    def append(self, row: dict[str, Any]) -> None:
        """Takes one row (JSON values; NaN and infinity become null). The row must not be changed afterwards."""
        self._rows.append(row)
        if len(self._rows) >= self._flush_every or time.monotonic() >= self._due:
            self.flush()

    def flush(self) -> None:
        """Writes what waits, whole lines only: where the disk is full, none of it, and the rows keep waiting."""
        if self._rows:
            text = "".join(map(_line, self._rows)).encode()
            with plain_os_errors(self.path):
                _write_whole(self._file.fileno(), text)
            self._rows.clear()
        self._due = time.monotonic() + self._flush_seconds

    def sync(self) -> None:
        """Flushes, and waits until the disk holds it: a power cut loses none of it."""
        self.flush()
        with plain_os_errors(self.path):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Flushes and closes the file; a second call does nothing."""
        if not self._file.closed:
            try:
                self.flush()
            finally:
                self._file.close()


def read_trace(path: Path) -> list[dict[str, Any]]:
    """All rows of a trace, in order; a torn last line is left out.

    Raises StoneError where there is no such file, or a line before the last is no JSON object (named as file:line).
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoneError(f"the trace cannot be read: {error.strerror or error}", where=str(path)) from error
    return [row for row, _ in _rows(data, path)]


def truncate(path: Path, *, after_step: int) -> None:
    """Drops the rows of steps above `after_step`, at once and whole, so that a resumed run can write them again.

    A row's step is its `step`, or its `where.step`; a row without one goes if it stands behind a dropped row.
    A torn last line goes too. Raises StoneError like `read_trace`.
    """
    data = path.read_bytes() if path.exists() else b""
    kept: list[bytes] = []
    is_later_seen = False
    for row, line in _rows(data, path):
        step = row.get("step", (row.get("where") or {}).get("step"))
        is_later = is_later_seen if step is None else step > after_step
        is_later_seen = is_later_seen or is_later
        if not is_later:
            kept.append(line)
    text = b"".join(line + b"\n" for line in kept)
    if text != data:
        write_bytes(path, text)


def _line(row: dict[str, Any]) -> str:
    try:
        return json.dumps(row, allow_nan=False, ensure_ascii=False) + "\n"
    except ValueError:  # NaN or infinity somewhere inside: rare, so that only then the row is walked through
        return json.dumps(clean(row), allow_nan=False, ensure_ascii=False) + "\n"


def _rows(data: bytes, path: Path) -> Iterator[tuple[dict[str, Any], bytes]]:
    lines = data.split(b"\n")
    last = len(lines) - 2 if data.endswith(b"\n") else len(lines) - 1
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        row = parse_row(line)
        if row is not None:
            yield row, line
        elif number < last:
            raise StoneError(
                f"this line of the trace is no JSON object: {line[:60].decode(errors='replace')}",
                where=f"{path}:{number + 1}",
                fix="delete the line, if nothing but the report is to be made from the rest",
            )


def parse_row(line: bytes) -> dict[str, Any] | None:
    """The JSON object of one line; None where it is none."""
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def _cut_torn_line(handle: int, path: Path) -> None:
    size = os.fstat(handle).st_size
    if size == 0:
        return
    data = path.read_bytes()
    end = data.rfind(b"\n", 0, size - 1 if data.endswith(b"\n") else size) + 1
    if parse_row(data[end:]) is None and data[end:].strip():
        os.ftruncate(handle, end)
    elif not data.endswith(b"\n"):
        os.pwrite(handle, b"\n", size)


def _write_whole(handle: int, text: bytes) -> None:
    start = os.lseek(handle, 0, os.SEEK_CUR)
    try:
        view = memoryview(text)
        while view:
            view = view[os.write(handle, view) :]
    except OSError:
        os.ftruncate(handle, start)
        os.lseek(handle, start, os.SEEK_SET)
        raise
