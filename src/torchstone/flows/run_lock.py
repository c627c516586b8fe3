"""One process trains a run at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

from torchstone.core.errors import StoneError
from torchstone.core.run import Run
from torchstone.core.store import plain_os_errors


@contextlib.contextmanager
def locked(run: Run, is_needed: bool) -> Iterator[None]:
    """Holds the run's lock inside the block (rank 0 does, `is_needed`); the system frees it if the process dies.

    Raises StoneError where another process trains this run now.
    """
    if not is_needed:
        yield
        return
    path = run.folder / "lock"
    with plain_os_errors(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(handle, 32, 0).decode(errors="replace").strip() or "another process"
            raise StoneError(
                f"this run is being trained by process {owner} now", where=str(run.folder),
                fix="wait for it, or start another run with --run NAME",
            ) from None  # fmt: skip
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)
