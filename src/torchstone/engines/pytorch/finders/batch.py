"""The largest micro-batch that fits, and the one that is fastest."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import torch

from torchstone.engines.pytorch.finders import undone
from torchstone.engines.pytorch.finders.memory_use import available, peak_of
from torchstone.engines.pytorch.freezing import to_train_mode
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.step import take_step
from torchstone.engines.pytorch.unfreezing import everything_released
from torchstone.parts.choices.memory import SHARE


@dataclass(frozen=True)
class Trial:
    """One size that was tried: bytes at the peak (None where unknown), examples per second, whether it fitted."""

    size: int
    peak: int | None
    examples_per_s: float
    fits: bool


@dataclass(frozen=True)
class BatchSizes:
    """What was tried, and what follows.

    largest: the largest micro-batch that fits, 0 where not even the smallest does. fastest: the one with the most
    examples per second. accumulate: micro-batches that make the wanted batch with the largest that fits.
    """

    trials: list[Trial]
    budget: int
    largest: int
    fastest: int
    wanted: int
    accumulate: int


def find_batch(job: Job, *, wanted: int, smallest: int = 8, budget: int | None = None) -> BatchSizes:
    """Doubles the micro-batch until memory is short or it holds all training examples; undoes every step.

    wanted: the batch of one optimizer step that the user wants. budget: bytes; by default 70 % of what is available.
    """
    limit = budget if budget is not None else int(available(job.strategy.device) * SHARE)
    trials: list[Trial] = []
    size = min(smallest, job.feed.num_per_epoch)
    while not trials or trials[-1].fits:
        trials.append(_try(job, size, limit))
        if size >= job.feed.num_per_epoch:
            break
        size = min(size * 2, job.feed.num_per_epoch)
    fitting = [trial for trial in trials if trial.fits]
    largest = max((trial.size for trial in fitting), default=0)
    fastest = max(fitting, key=lambda trial: trial.examples_per_s).size if fitting else 0
    micro = min(largest, wanted)
    return BatchSizes(trials, limit, largest, fastest, wanted, math.ceil(wanted / micro) if micro else 0)


def _try(job: Job, size: int, limit: int) -> Trial:
    trial = replace(job, feed=replace(job.feed, batch_size=size, accumulate=1), saver=None)
    window = next(iter(trial.feed.epoch(0)))
    seconds: list[float] = []

    def two_steps() -> None:
        for _ in range(2):  # the second has the optimizer's state beside it, and warm caches
            started = time.perf_counter()
            take_step(trial, window, Progress(), 0.0)
            seconds.append(time.perf_counter() - started)

    with undone(job), everything_released(job):
        to_train_mode(job.model, job.resting)
        try:
            peak = peak_of(two_steps, job.strategy.device)
        except (torch.OutOfMemoryError, MemoryError):
            return Trial(size, None, 0.0, fits=False)
    return Trial(size, peak, size / seconds[-1], fits=peak is None or not limit or peak <= limit)
