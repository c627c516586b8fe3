"""The window that went wrong, in the run's folder: batch, generators, and which checkpoint holds the weights.

One folder for each failure below `postmortem/`, written like a checkpoint: safetensors and JSON, whole or not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from torchstone.engines.pytorch import checkpoint
from torchstone.engines.pytorch.batch import Batch
from torchstone.engines.pytorch.checkpoint import Content
from torchstone.engines.pytorch.feed import Feed, Window
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.postmortem.autopsy import Autopsy, examine, first_of_all
from torchstone.engines.pytorch.postmortem.generators import Generators
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.saver import name_of

FOLDER = "postmortem"
# A batch of more bytes is not copied: its rows are, from which the data gives the same batch again.
LARGEST_BATCH = 256 * 2**20
# Failures that are kept; a run that is resumed may fail again.
KEPT = 3


def look_back(
    job: Job, progress: Progress, window: Window, *, before: Generators, scale: float
) -> dict[str, Any]:  # fmt: skip
    """Examines the window and keeps it beside the checkpoints; returns what a trace says of it. Every rank calls it.

    {"refused": why} where the model cannot be run once more: what ended the run matters more.
    Raises StoneError where the disk is full.
    """
    try:
        autopsy = examine(job, window.batches, len(window.rows), before, scale)
    except (RuntimeError, NotImplementedError, TypeError) as error:  # an operation that cannot be looked at, or memory
        autopsy = Autopsy({"phase": None, "refused": f"{type(error).__name__}: {error}"[:300]}, [], [])
    first, rank = first_of_all(job, autopsy)
    if job.saver is not None and rank == job.strategy.rank:
        folder = job.saver.folder.parent / FOLDER
        checkpoint.write(_content(job, progress, window, first, before, scale), folder / name_of(progress))
        checkpoint.sweep(folder, KEPT, set())
    return first.found


def _content(
    job: Job, progress: Progress, window: Window, autopsy: Autopsy, before: Generators, scale: float
) -> Content:  # fmt: skip
    batch = tensors_of(window.batches)
    is_whole = sum(value.numel() * value.element_size() for value in batch.values()) <= LARGEST_BATCH
    rows = {name: value for name, value in batch.items() if name.endswith(".rows")}
    state = {
        "step": progress.step, "epoch": progress.epoch, "window": window.index, "num": len(window.rows),
        "rank": job.strategy.rank, "world": job.strategy.world, "checkpoint": name_of(progress), "scale": scale,
        "is_whole": is_whole, "torch": torch.__version__, "autopsy": asdict(autopsy),
    }  # fmt: skip
    return Content({"batch": batch if is_whole else rows, "generators": dict(before)}, state)


def tensors_of(batches: Sequence[Batch]) -> dict[str, Tensor]:
    """Micro-batches as tensors by name: `0.input.0`, `0.target`, `0.rows`."""
    found: dict[str, Tensor] = {}
    for index, batch in enumerate(batches):
        named = {**{f"input.{i}": v for i, v in enumerate(batch.inputs)}, "target": batch.target,
                 "rows": torch.from_numpy(np.ascontiguousarray(batch.rows, dtype=np.int64))}
        found |= {f"{index}.{name}": value.detach().to("cpu", copy=True).contiguous() for name, value in named.items()}
    return found


def batches_of(tensors: dict[str, Tensor]) -> list[Batch]:
    """The inverse of `tensors_of`."""
    found: list[Batch] = []
    while f"{len(found)}.rows" in tensors:
        start = f"{len(found)}."
        inputs: list[Tensor] = []
        while f"{start}input.{len(inputs)}" in tensors:
            inputs.append(tensors[f"{start}input.{len(inputs)}"])
        found.append(Batch(tuple(inputs), tensors[f"{start}target"], tensors[f"{start}rows"].numpy()))
    return found


def kept_batches(content: Content, feed: Feed) -> list[Batch]:
    """The micro-batches of a kept window; made anew by the feed where they were too large to be copied."""
    state = content.state
    if state["is_whole"]:
        return batches_of(content.tensors["batch"])
    same = replace(feed, rank=state["rank"], world=state["world"])
    return list(next(same.epoch(state["epoch"], state["window"])).batches)


def kept_in(run_folder: Path) -> list[Path]:
    """The failures that a run's folder holds, newest first."""
    return checkpoint.listed(run_folder / FOLDER)
