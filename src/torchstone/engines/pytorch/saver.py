"""Saves a run while it goes on: copies at the step, writes in the background, points `best` and `last`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from torchstone.core.store import point
from torchstone.engines.pytorch import checkpoint, snapshot
from torchstone.engines.pytorch.checkpoint import Content
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.progress import Progress


def name_of(progress: Progress) -> str:
    """A checkpoint's folder name; names sort by age."""
    return f"step-{progress.step:08d}-e{progress.epoch:04d}-w{progress.window:06d}"


class Saver:
    """Writes checkpoints of one run.

    every_windows, every_s: how often within an epoch (0 for never). An epoch's end is saved where it is the best so
    far, or the last checkpoint is older than epoch_gap_s seconds (0: always).
    keep: how many of the newest stay, besides the best. mark: how long the trace is now, in bytes; it is stored so
    that a resumed run drops what was written after the checkpoint.
    """

    def __init__(
        self, folder: Path, *, every_windows: int = 0, every_s: float = 0.0, keep: int = 2,
        mark: Callable[[], int] = lambda: 0, epoch_gap_s: float = 0.0,
    ) -> None:  # fmt: skip
        self.folder, self._keep, self._mark = folder, keep, mark
        self._every_windows, self._every_s = every_windows, every_s
        self._epoch_gap_s = epoch_gap_s
        self._last_s = time.monotonic()
        self._last_name = ""
        self._best_name = ""
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def is_due(self, windows_seen: int) -> bool:
        """Whether it is time for a checkpoint within the epoch."""
        if self._every_windows and windows_seen % self._every_windows == 0:
            return True
        return bool(self._every_s) and time.monotonic() - self._last_s >= self._every_s

    def is_stale(self) -> bool:
        """Whether the last checkpoint is old enough for another at an epoch's end."""
        return time.monotonic() - self._last_s >= self._epoch_gap_s

    def has(self, progress: Progress) -> bool:
        """Whether this very state is saved already."""
        return self._last_name == name_of(progress)

    def resumed_from(self, path: Path, best_name: str) -> None:
        """Takes up where the checkpoint at `path` left off."""
        self._last_name, self._best_name = path.name, best_name

    def save(self, job: Job, progress: Progress, *, is_best: bool = False) -> str:
        """Copies the state now and writes it in the background; waits first for a write that is still going on.

        Raises what the previous write raised, if it failed.
        """
        self.finish()
        name = name_of(progress)
        if is_best:
            self._best_name = name
        progress.extra["best_checkpoint"] = self._best_name
        content = snapshot.take(job, progress)
        content.state["trace_bytes"] = self._mark()
        self._last_name, self._last_s = name, time.monotonic()
        if job.strategy.rank == 0:
            self._thread = threading.Thread(target=self._write, args=(content, name), name="saver")
            self._thread.start()
        return str(self.folder / name)

    def _write(self, content: Content, name: str) -> None:
        try:
            checkpoint.write(content, self.folder / name)
            point(self.folder / "last", name)
            best = content.state["progress"]["extra"]["best_checkpoint"]
            if best and (self.folder / best).is_dir():
                point(self.folder / "best", best)
            checkpoint.sweep(self.folder, self._keep, {best, name})
        except BaseException as error:  # handed to the training thread by finish()
            self._error = error

    def finish(self) -> None:
        """Returns when everything is on the disk; raises what went wrong in the background."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._error is not None:
            error, self._error = self._error, None
            raise error
