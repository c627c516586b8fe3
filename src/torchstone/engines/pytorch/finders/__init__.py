"""Measurements made before a run, which leave everything as it was."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from torchstone.engines.pytorch import snapshot
from torchstone.engines.pytorch.freezing import modes_kept
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.progress import Progress


@contextlib.contextmanager
def undone(job: Job) -> Iterator[None]:
    """Weights, optimizer, scaler, average and generators are after the block what they were before it, bit for bit.

    The feed needs no undoing: its batches depend on seed, epoch and row alone.
    """
    before = snapshot.take(job, Progress())
    try:
        with modes_kept(job.model):
            yield
    finally:
        snapshot.restore(job, before)
        job.optimizer.zero_grad(set_to_none=True)
