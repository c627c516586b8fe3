"""The checks before a run on a job of ours: the first window that it will train on, nothing mocked.

Legend of axes: B examples, C channels, S pixels.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from torchstone.core.store import clean
from torchstone.engines.pytorch import heads
from torchstone.engines.pytorch.assemble import Setting
from torchstone.engines.pytorch.batch import Batch
from torchstone.engines.pytorch.freezing import to_train_mode
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.losses import needs_whole_batch
from torchstone.engines.pytorch.preflight.bench import Bench, Row
from torchstone.engines.pytorch.preflight.checks import Tell, examine, same_rows
from torchstone.engines.pytorch.weights.report import weights_report

KINDS = {"single": "classes", "multi": "labels", "number": "numbers"}
AUGMENTED = ("image.augment", "image.distort", "image.erase", "text.augment")
# Examples that are learnt by heart, looked for among so many; and examples whose augmentation is compared.
FEW, AMONG, COMPARED = 16, 256, 16


@dataclass(frozen=True)
class FirstBatch:
    """What the model sees first, for a person: rows of the data, a label each, and pictures uint8 [B, S, S, C]."""

    rows: list[int]
    labels: list[str]
    pictures: np.ndarray | None


def look_ahead(setting: Setting, job: Job, *, seconds: float, tell: Tell | None = None) -> tuple[list[Row], FirstBatch]:
    """The rows of all checks, and the first batch; the job is afterwards what it was, bit for bit.

    seconds: for learning a batch by heart; 0 for not. Of several ranks each looks at its own share, without a word to
    the others; where the model or the loss would speak to them, nothing passes through the model.
    """
    batch = first_of(job)
    rows = [augmentation(setting, job, batch)]
    if speaker := speaks_to_ranks(setting, job):
        why = f"{job.strategy.world} ranks and {speaker}: the model is not asked"
        rows.append({"event": "batch", "not_judged": why})
    else:
        rows = [*examine(bench_of(setting, job, batch), seconds=seconds, tell=tell), *rows]
    return rows, FirstBatch(batch.rows.tolist(), labels_of(setting, batch.target), pictures_of(setting, batch))


def speaks_to_ranks(setting: Setting, job: Job) -> str:
    """What of the model or the loss waits for other ranks; empty where nothing does."""
    if job.strategy.world == 1:
        return ""
    if setting.plan.get("train.sync_batchnorm"):
        return "synchronised BatchNorm"
    return "a loss that gathers what all hold" if needs_whole_batch(job.loss) else ""


def rows_of_ranks(job: Job, rows: list[Row]) -> list[list[Row]]:
    """The rows of each rank, in rank order and the same on all of them; called by every rank."""
    if job.strategy.world == 1:
        return [rows]
    text = torch.from_numpy(np.frombuffer(json.dumps(clean(rows)).encode(), dtype=np.uint8).copy())
    return [json.loads(bytes(part.cpu().numpy().tobytes())) for part in job.strategy.gather(text)]


def first_of(job: Job) -> Batch:
    """This rank's first micro-batch of training; made here, without worker processes."""
    window = next(iter(replace(job.feed, workers=0).epoch(0)))
    return window.batches[0] if window.batches else job.feed.source.batch(window.rows, 0)


def bench_of(setting: Setting, job: Job, batch: Batch) -> Bench:
    """The job's own model, loss and optimizer with its first batch."""
    device = job.strategy.device

    def plain(model: nn.Module, inputs: tuple[Tensor, ...]) -> Any:
        return model(*inputs)

    def forward(model: nn.Module, inputs: tuple[Tensor, ...]) -> Any:
        with job.precision.autocast():
            return model(*inputs)

    def loss(output: Tensor, target: Tensor) -> Tensor:
        with job.precision.autocast():
            total, weight = job.loss(output, target)
        return total / weight

    def to_train(model: nn.Module) -> None:
        frozen = {name for name, module in job.model.named_modules() if any(module is one for one in job.resting)}
        to_train_mode(model, [module for name, module in model.named_modules() if name in frozen])

    few = few_different(job, setting.task.target)
    return Bench(
        model=job.model, inputs=tuple(value.to(device) for value in batch.inputs), target=batch.target.to(device),
        forward=forward, plain_forward=plain, loss=loss, to_train=to_train, kind=KINDS[setting.task.target],
        small=None if few is None else (tuple(value.to(device) for value in few.inputs), few.target.to(device)),
        optimizer=job.optimizer, is_fresh=is_fresh(setting, job),
        takes_scores=heads.embedding_size(setting.plan) is None,
    )  # fmt: skip


def is_fresh(setting: Setting, job: Job) -> bool:
    """Whether the model has random weights, so that its first loss is known."""
    plan = setting.plan
    given = (plan.get("model.options.weights"), plan.get("model.options.folder"))
    return not any(given) and weights_report(job.model) is None


def few_different(job: Job, target: str) -> Batch | None:
    """Up to 16 training examples without augmentation, no two inputs alike, classes in turn; None for one target."""
    rows = np.unique(job.feed.rows)[:: max(1, len(job.feed.rows) // AMONG)][:AMONG]
    batch = job.feed.source.batch(rows, None)
    seen: set[bytes] = set()
    by_target: dict[bytes, list[int]] = {}
    for place in range(len(rows)):
        key = b"".join(value[place].contiguous().numpy().tobytes() for value in batch.inputs)
        if key not in seen:
            seen.add(key)
            by_target.setdefault(batch.target[place].numpy().tobytes(), []).append(place)
    if len(by_target) < 2:
        return None
    turns = [(turn, places[turn]) for places in by_target.values() for turn in range(min(FEW, len(places)))]
    chosen = sorted(place for _, place in sorted(turns, key=lambda pair: pair[0])[:FEW])
    return job.feed.source.batch(rows[chosen], None)


def augmentation(setting: Setting, job: Job, batch: Batch) -> Row:
    """Whether the same examples come differently in the next epoch, and alike when they are made once more.

    What is alike depends on seed, epoch and row alone: so it differs between worker processes and is made again by a
    resumed run.
    """
    source, plan = job.feed.source, setting.plan
    parts = [str(plan.get(f"{field}.name")) for field in AUGMENTED]
    parts = [name for name in parts if name not in ("None", "none")]
    rows = batch.rows[:COMPARED]
    with _own_draws():
        first, again, later = (source.batch(rows, epoch).inputs for epoch in (0, 0, 1))
        plain, again_plain = (source.batch(rows, None).inputs for _ in range(2))
    return {
        "event": "augmentation", "is_wanted": bool(parts), "parts": parts, "num": len(rows),
        "same_in_epochs": same_rows(first, later), "is_repeatable": same_rows(first, again) == 1.0,
        "is_evaluation_random": same_rows(plain, again_plain) < 1.0, "workers": job.feed.workers,
    }  # fmt: skip


@contextlib.contextmanager
def _own_draws() -> Iterator[None]:
    """A part of others may draw from the global generators: they are put back."""
    from torchstone.engines.attach.asking import undisturbed

    with undisturbed(nn.Identity()):
        yield


def labels_of(setting: Setting, target: Tensor) -> list[str]:
    """What a person calls each target [B], [B, K]: a class, shares of mixed ones, several labels, or a number."""
    classes = [str(name) for name in setting.dataset.classes]
    if setting.task.target == "number":
        mean, std = setting.encoding["target_mean"], setting.encoding["target_std"]
        return [f"{value * std + mean:.6g}" for value in target.double().tolist()]
    if not target.is_floating_point():
        return [classes[index] for index in target.tolist()]
    if setting.task.target == "multi":
        return [", ".join(name for name, on in zip(classes, row, strict=True) if on) or "none"
                for row in (target > 0.5).tolist()]  # fmt: skip
    shares = [sorted(zip(row, classes, strict=True), reverse=True)[:2] for row in target.tolist()]
    return [" + ".join(f"{name} {share:.2f}" for share, name in two if share > 0) for two in shares]


def pictures_of(setting: Setting, batch: Batch) -> np.ndarray | None:
    """The pictures as the model sees them, with the scaling taken off again: uint8 [B, S, S, C]; None for others."""
    if setting.task.modality != "image":
        return None
    mean, std = (torch.tensor(setting.encoding[key]).view(1, 1, 1, -1) for key in ("mean", "std"))
    pixels = batch.inputs[0].permute(0, 2, 3, 1).float() * std + mean
    made: np.ndarray = (pixels * 255).round().clamp(0, 255).to(torch.uint8).numpy()
    return made
