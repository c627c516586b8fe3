"""A small, complete training: two moons of eight numbers each, with dropout, to be run, cut and compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from torchstone.engines.pytorch.averaging.ema import ema
from torchstone.engines.pytorch.feed import Feed
from torchstone.engines.pytorch.job import Job, Validation
from torchstone.engines.pytorch.losses.cross_entropy import cross_entropy
from torchstone.engines.pytorch.precisions.fp32 import fp32
from torchstone.engines.pytorch.saver import Saver
from torchstone.engines.pytorch.sources.tensors import TensorSource
from torchstone.engines.pytorch.strategies.single import single

CPU = torch.device("cpu")


def accuracy(scores: np.ndarray, target: np.ndarray) -> float:
    """The share of right classes."""
    return float((scores.argmax(1) == target).mean())


def blobs(num: int = 90, num_classes: int = 3) -> TensorSource:
    """Noisy clusters, float32 [num, 8]."""
    generator = torch.Generator().manual_seed(5)
    target = torch.arange(num) % num_classes
    centers = torch.randn(num_classes, 8, generator=generator)
    return TensorSource([centers[target] + torch.randn(num, 8, generator=generator)], target)


def small_net(num_classes: int = 3, dropout: float = 0.2) -> nn.Module:
    """An MLP with BatchNorm and dropout, the same weights at every call."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(dropout), nn.Linear(16, num_classes)
    )


def toy_job(folder: Path | None = None, source: TensorSource | None = None, **changes: Any) -> Job:
    """A job of 3 epochs with 8 windows each (the last one short), on 75 rows, judged on 15."""
    source = source or blobs()
    model = changes.pop("model", None) or small_net()
    feed_changes = {k: changes.pop(k) for k in ("batch_size", "accumulate", "workers", "rows") if k in changes}
    saver_changes = {k: changes.pop(k) for k in ("every_windows", "every_s", "keep", "mark") if k in changes}
    optimizer = changes.pop("optimizer", None) or torch.optim.AdamW(model.parameters(), lr=1e-2, fused=True)
    rows = np.arange(len(source) - 15)
    judged = np.arange(len(source) - 15, len(source))
    validation = Validation(
        source, judged, 4, lambda logits: torch.softmax(logits, 1).numpy(), source.batch(judged, None).target.numpy(),
        {"accuracy": accuracy}, "accuracy", "max",
    )  # fmt: skip
    feed = Feed(source, rows, 10, seed=3)
    job = Job(
        model=model, loss=cross_entropy(), optimizer=optimizer, schedule=lambda step, total: 1 - step / total,
        feed=replace(feed, **feed_changes), epochs=3, strategy=single(CPU), precision=fp32(CPU),
        validation=validation, average=ema(model, decay=0.9), clip_norm=1.0, sample_every=4,
        saver=None if folder is None else Saver(folder, **saver_changes),
        base_rates=[group["lr"] for group in optimizer.param_groups],
    )  # fmt: skip
    torch.manual_seed(11)
    return replace(job, **changes)


@pytest.fixture
def toy() -> Callable[..., Job]:
    """`toy_job`."""
    return toy_job
