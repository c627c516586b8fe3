"""One process trains a run at a time."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
from collections.abc import Iterator
from pathlib import Path

from torchstone.core.errors import StoneError
from torchstone.core.run import Run
from torchstone.core.store import plain_os_errors

_held: set[int] = set()


@contextlib.contextmanager
def locked(run: Run, is_needed: bool) -> Iterator[None]:
    """Holds the run's lock inside the block (rank 0 does, `is_needed`); the system frees it if the process dies.

    Makes the run's folder where there is none. Raises StoneError where another process trains this run now, or the
    place cannot be written to.
    """
    if not is_needed:
        yield
        return
    _free_in_children()
    path = run.folder / "lock"
    handle = _taken(path)
    _held.add(handle)
    try:
        with plain_os_errors(path):
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        _held.discard(handle)
        os.close(handle)


def _taken(path: Path) -> int:
    """The open, locked file at `path`; not one that whoever held it has removed with its folder meanwhile."""
    while True:
        with plain_os_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            except FileNotFoundError:
                if path.parent.is_dir():
                    raise
                continue  # the folder was removed just now
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(handle, 32, 0).decode(errors="replace").strip() or "another process"
            os.close(handle)
            raise StoneError(
                f"this run is being trained by process {owner} now", where=str(path.parent),
                fix="wait for it, or start another run with --run NAME",
            ) from None  # fmt: skip
        if path.is_file() and os.path.samestat(os.fstat(handle), os.stat(path)):
            return handle
        os.close(handle)


@functools.cache
def _free_in_children() -> None:
    # flock belongs to all copies of a handle: a data worker that outlives a killed run by some seconds would hold it
    os.register_at_fork(after_in_child=_close_held)


def _close_held() -> None:
    while _held:
        os.close(_held.pop())
