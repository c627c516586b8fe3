"""The examples that a model was trained on are told once each, by digests that anybody can work out again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hand_made import a_dataset

from conftest import CPU, blobs, toy_job
from torchstone.core.dataset import Dataset
from torchstone.core.event import Event
from torchstone.engines.pytorch import checkpoint, snapshot
from torchstone.engines.pytorch.batch import Batch
from torchstone.engines.pytorch.feed import Window
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.seen import Seen
from torchstone.engines.pytorch.sources.tensors import TensorSource
from torchstone.engines.pytorch.strategies.single import single


def of_blobs() -> Dataset:
    """The ninety rows of the toy job: 75 to train on, 10 for validation, 5 for the test."""
    split = ["train"] * 75 + ["validation"] * 10 + ["test"] * 5
    return a_dataset({"x": np.arange(90.0)}, {"x": "number"}, np.arange(90) % 3, split)


def by_hand(names: Sequence[str]) -> str:
    """The digest as docs/review.md tells it: SHA-256 of the ids, each with a line end."""
    whole = hashlib.sha256()
    for name in names:
        whole.update(name.encode() + b"\n")
    return whole.hexdigest()


def a_window(index: int, *shares: Sequence[int]) -> Window:
    """A window of these rows, a micro-batch each."""
    batches = [Batch((), torch.zeros(0), np.array(rows, dtype=np.int64)) for rows in shares]
    return Window(index, np.concatenate([batch.rows for batch in batches]), batches)


def watched(job: Job, progress: Progress | None = None) -> list[dict[str, Any]]:
    """The rows about examples of a training."""
    rows: list[dict[str, Any]] = []
    fit(job, progress or Progress(), [lambda e: rows.append(dict(e.values)) if e.kind == "examples" else None])
    return rows


def counting(folder: Path | None = None, **changes: Any) -> Job:
    """The toy job, which counts its examples."""
    return replace(toy_job(folder, **changes), seen=Seen(of_blobs(), 90))


def test_each_epoch_tells_all_training_examples_and_no_other() -> None:
    rows = watched(counting())
    assert [row["epoch"] for row in rows] == [0, 1, 2]
    for row in rows:
        assert row["windows"] == [0, 7]
        assert row["examples"] == row["distinct"] == 75
        assert row["by_split"] == {"train": 75, "validation": 0, "test": 0, "synthetic": 0}
        assert row["digest"] == by_hand([f"row {i}" for i in range(75)])
        assert row["ranks"] == [{"examples": 75, "distinct": 75, "digest": row["digest"]}]


def test_a_validation_example_that_is_dealt_out_shows() -> None:
    (row,) = watched(counting(rows=np.arange(77), epochs=1))
    assert row["by_split"] == {"train": 75, "validation": 2, "test": 0, "synthetic": 0}
    assert row["digest"] == by_hand([f"row {i}" for i in range(77)])


def test_repetitions_and_synthetic_rows_are_counted_apart() -> None:
    seen = Seen(of_blobs(), 92)
    seen.take(a_window(3, [1, 1], [0, 90]))
    seen.take(a_window(4, [91, 1]))
    row = seen.tell(single(CPU), 2)
    assert row is not None
    assert (row["epoch"], row["windows"], row["examples"], row["distinct"]) == (2, [3, 4], 6, 4)
    assert row["by_split"] == {"train": 2, "validation": 0, "test": 0, "synthetic": 2}
    assert row["digest"] == by_hand(["row 0", "row 1"])
    assert row["shared"] == 0
    assert seen.tell(single(CPU), 2) is None  # nothing came since
    json.dumps(row)


def test_a_checkpoint_within_the_epoch_cuts_the_count_in_two(tmp_path: Path) -> None:
    rows = watched(counting(tmp_path, every_windows=3, epochs=1))
    assert [row["windows"] for row in rows] == [[0, 2], [3, 5], [6, 7]]
    assert sum(row["distinct"] for row in rows) == 75


class Killed(Exception):
    """Stands for a process that ends between two instructions."""


def test_a_run_that_is_killed_and_resumed_tells_every_window_once(tmp_path: Path) -> None:
    """The trace is cut back to the checkpoint, as `drive` does it; what follows tells the rest."""
    told: list[dict[str, Any]] = []
    kept = 0

    def note(event: Event) -> None:
        nonlocal kept
        if event.kind == "examples":
            told.append(dict(event.values))
        if event.kind == "checkpoint":
            kept = len(told)
        if event.kind == "step" and event.step == 13:
            raise Killed

    job = counting(tmp_path, every_windows=3)
    with pytest.raises(Killed):
        fit(job, Progress(), [note])
    assert job.saver is not None
    job.saver.finish()
    path, _ = checkpoint.newest(tmp_path)
    assert path is not None
    again = counting(tmp_path, every_windows=3)
    progress, _ = snapshot.restore(again, checkpoint.read(path))
    rows = [*told[:kept], *watched(again, progress)]
    windows = [(row["epoch"], window) for row in rows for window in range(row["windows"][0], row["windows"][1] + 1)]
    assert windows == [(epoch, window) for epoch in range(3) for window in range(8)]
    assert sum(row["examples"] for row in rows) == 3 * 75


def test_counting_changes_no_weight() -> None:
    plain = toy_job()
    fit(plain, Progress())
    counted = counting()  # only now: both draw dropout from the one generator that the job has seeded
    fit(counted, Progress())
    for one, two in zip(plain.model.state_dict().values(), counted.model.state_dict().values(), strict=True):
        assert torch.equal(one, two)


def test_a_window_that_ends_the_run_was_not_trained_on() -> None:
    whole = blobs().batch(np.arange(90), None)
    whole.inputs[0][counting().feed.window_rows(0)[2][0]] = float("nan")
    (row,) = watched(counting(source=TensorSource(whole.inputs, whole.target), epochs=1))
    assert row["windows"] == [0, 1]
    assert row["examples"] == 20
