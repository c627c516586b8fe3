"""What people decide about a project: rows that are only ever added, each chained to the one before by its digest."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torchstone.core.errors import StoneError
from torchstone.core.store import clean, plain_os_errors, write_bytes
from torchstone.core.trace import parse_row

# What stands in the first row in place of the digest of one before.
NOTHING = "0" * 64


class Ledger:
    """The ledger of a project, `.torchstone/ledger.jsonl`: one JSON object a line, each with `before`, the SHA-256 of
    the line above it. A changed, moved or removed row breaks the chain of those below it.

    A row counts once `append` has returned. What stands behind the last line end and is no row was never whole (a copy
    that was cut off): it is left out, and gone with the next row.
    """

    def __init__(self, project: Path) -> None:
        self.path = project / ".torchstone" / "ledger.jsonl"

    def rows(self) -> list[dict[str, Any]]:
        """All rows, oldest first. Raises StoneError, with the line, where a row is no JSON or the chain is broken."""
        return self._checked(self._data())

    @property
    def head(self) -> str:
        """The SHA-256 of the last row: who notes it elsewhere sees later whether rows were cut off at the end."""
        return self._head(self._data())

    def append(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Adds a row of JSON values and returns it with its `before`; the file is whole on the disk afterwards.

        Raises StoneError where the ledger is damaged (nothing is added then) or cannot be written to.
        """
        with self._held():
            data = self._data()
            self._checked(data)
            added = {**clean(dict(row)), "before": self._head(data)}
            line = json.dumps(added, ensure_ascii=False, allow_nan=False).encode(errors="replace")
            write_bytes(self.path, data + line + b"\n")
        return added

    def _data(self) -> bytes:
        """The content up to its last whole row, which ends with a line end."""
        try:
            whole, end, rest = self.path.read_bytes().rpartition(b"\n")
            return whole + end + (rest + b"\n" if parse_row(rest) is not None else b"")
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise StoneError(f"the ledger cannot be read: {error.strerror or error}", where=str(self.path)) from error

    def _checked(self, data: bytes) -> list[dict[str, Any]]:
        rows, before = [], NOTHING
        for number, line in enumerate(data.split(b"\n")[:-1], start=1):
            row = parse_row(line)
            if row is None:
                raise self._broken(number, "this row is no JSON object")
            if row.get("before") != before:
                raise self._broken(number, "this row does not follow from the one above it: that was changed")
            rows.append(row)
            before = hashlib.sha256(line).hexdigest()
        return rows

    def _broken(self, number: int, what: str) -> StoneError:
        fix = "bring the file back from a copy: rows are only ever added to it"
        return StoneError(what, where=f"{self.path}:{number}", fix=fix)

    @staticmethod
    def _head(data: bytes) -> str:
        lines = data.split(b"\n")[:-1]
        return hashlib.sha256(lines[-1]).hexdigest() if lines else NOTHING

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        """One writer at a time; the system frees the lock if the process dies."""
        path = self.path.with_suffix(".lock")
        with plain_os_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)
