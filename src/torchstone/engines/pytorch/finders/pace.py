"""How long a step and a validation take here."""

from __future__ import annotations

import itertools
import statistics
import time
from dataclasses import dataclass, replace

from torchstone.engines.pytorch.finders import undone
from torchstone.engines.pytorch.freezing import to_train_mode
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.scoring import score
from torchstone.engines.pytorch.step import take_step

# The first steps allocate and warm caches; then steps are timed until both limits are reached.
WARM_UP, LEAST_STEPS, LEAST_S = 3, 5, 2.0


@dataclass(frozen=True)
class Pace:
    """Seconds of a step (the median, waiting for data included) and of a whole validation."""

    step_s: float
    validation_s: float

    def epoch_s(self, job: Job) -> float:
        """Seconds of an epoch with its validation."""
        return self.step_s * job.feed.windows_per_epoch + self.validation_s


def find_pace(job: Job) -> Pace:
    """Times some steps and one validation, and undoes them."""
    seconds: list[float] = []
    with undone(job):
        to_train_mode(job.model, job.frozen)
        trial = replace(job, saver=None)
        windows = itertools.chain.from_iterable(job.feed.epoch(epoch) for epoch in itertools.count())
        begun = last = time.perf_counter()
        for window in windows:
            take_step(trial, window, Progress(), 0.0)
            now = time.perf_counter()
            seconds.append(now - last)
            last = now
            if len(seconds) >= WARM_UP + LEAST_STEPS and now - begun >= LEAST_S:
                break
        started = time.perf_counter()
        if job.validation is not None:
            score(job, job.validation)
        validation_s = time.perf_counter() - started
    return Pace(statistics.median(seconds[WARM_UP:]), validation_s)
