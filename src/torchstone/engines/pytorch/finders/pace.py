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
from torchstone.engines.pytorch.ruler import num_measured
from torchstone.engines.pytorch.scoring import agreed_weights, score
from torchstone.engines.pytorch.step import take_step
from torchstone.engines.pytorch.unfreezing import everything_released

# The first steps allocate and warm caches; then steps are timed until both limits are reached.
WARM_UP, LEAST_STEPS, LEAST_S = 3, 5, 2.0


@dataclass(frozen=True)
class Pace:
    """Seconds of a step (the median, waiting for data included), of a whole validation, of measuring all examples."""

    step_s: float
    validation_s: float
    measuring_s: float = 0.0

    def epoch_s(self, job: Job) -> float:
        """Seconds of an epoch with its validation, the mean over the run."""
        measured = self.measuring_s * num_measured(job)
        return (self.step_s * job.total_steps + measured) / job.epochs + self.validation_s


def find_pace(job: Job) -> Pace:
    """Times some steps and one validation, and undoes them."""
    seconds: list[float] = []
    with undone(job), everything_released(job):
        to_train_mode(job.model, job.resting)
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
        if trial.average is not None:
            trial.average.end_epoch(trial.epochs - 1, trial.epochs)
        if trial.validation is not None:
            with agreed_weights(trial):
                score(trial, trial.validation)
        validation_s = time.perf_counter() - started
        started = time.perf_counter()
        if trial.ruler is not None:
            score(trial, trial.ruler.examples)
        measuring_s = time.perf_counter() - started
    return Pace(statistics.median(seconds[WARM_UP:]), validation_s, measuring_s)
