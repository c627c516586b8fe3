"""A number that is not finite ends the run before it spoils the weights, and names the examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from conftest import CPU, blobs, toy_job
from torchstone.engines.pytorch import checkpoint
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.precisions.bf16 import bf16
from torchstone.engines.pytorch.precisions.fp16 import fp16
from torchstone.engines.pytorch.precisions.fp32 import fp32
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.sources.tensors import TensorSource


def spoilt(value: float, row: int = 31) -> TensorSource:
    batch = blobs().batch(np.arange(90), None)
    inputs = batch.inputs[0].clone()
    inputs[row, 2] = value
    return TensorSource([inputs], batch.target)


def run(job: Job) -> tuple[Progress, dict[str, Any], list[dict[str, Any]]]:
    told: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []

    def observe(event: Any) -> None:
        if event.kind == "finding":
            told.update(event.values)
        if event.kind == "step":
            rows.append(dict(event.values))

    return fit(job, Progress(), [observe]), told, rows


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("precision", [fp32, bf16, fp16])
def test_one_bad_example_stops_the_step_and_is_named(value: float, precision: Any) -> None:
    """HF Trainer 5.24 logs loss 0.0 and a train loss of .4781 while the weights are NaN."""
    job = toy_job(source=spoilt(value), precision=precision(CPU), names=lambda row: f"example {row}")
    progress, told, rows = run(job)
    assert progress.status == "failed"
    assert told["is_culprit_known"] is True
    assert told["rows"] == [31]
    assert told["examples"] == ["example 31"]
    assert all(bool(p.isfinite().all()) for p in job.model.parameters())
    bad = rows[-1]
    assert bad["skipped"] is not None
    assert not np.isfinite(bad["loss"])
    assert all(np.isfinite(row["loss"]) for row in rows[:-1])
    assert progress.step == len(rows) - 1


def test_the_last_checkpoint_is_from_before_the_bad_step(tmp_path: Path) -> None:
    job = toy_job(tmp_path, source=spoilt(float("nan")))
    progress, _, _ = run(job)
    path, _ = checkpoint.newest(tmp_path)
    assert path is not None
    content = checkpoint.read(path)
    assert content.state["progress"]["step"] == progress.step
    assert all(bool(v.isfinite().all()) for v in content.tensors["model"].values())


def test_an_explosion_blames_no_single_example_of_the_data() -> None:
    model = torch.nn.Linear(8, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=3e38)
    job = toy_job(model=model, optimizer=optimizer, average=None, clip_norm=0.0)
    progress, told, _ = run(job)
    assert progress.status == "failed"
    assert told["num"] == 10 or told["is_culprit_known"]


def test_a_metric_that_is_nan_is_missing_and_never_best() -> None:
    progress = Progress()
    nan = float("nan")
    seen = [0.5, nan, 0.6, nan, nan, 0.55]
    best = [
        progress.note_validation("accuracy", "max", {"step": i, "epoch": i, "metrics": {"accuracy": v}})
        for i, v in enumerate(seen)
    ]
    assert best == [True, False, True, False, False, False]
    assert progress.best is not None
    assert progress.best["step"] == 2
    assert progress.bad_epochs == 1  # only 0.55 was worse; the NaN were nothing


def test_a_first_nan_is_not_kept_as_the_best_forever() -> None:
    progress = Progress()
    for step, value in enumerate([float("nan"), 0.9]):
        progress.note_validation("loss", "min", {"step": step, "epoch": step, "metrics": {"loss": value}})
    assert progress.best is not None
    assert progress.best["metrics"]["loss"] == 0.9
