"""The learning-rate range test (Smith 2017, Cyclical Learning Rates for Training Neural Networks)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from torchstone.engines.pytorch.finders import undone
from torchstone.engines.pytorch.freezing import to_train_mode
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.step import take_step
from torchstone.parts.schedules.constant import constant

# Weight of the past in the smoothed loss, and how far above its best it may rise before the test ends: the values of
# fastai's learning-rate finder (Howard & Gugger 2020).
SMOOTHING, DIVERGED = 0.9, 4.0
# A smoothed loss that falls by less than this share shows no slope to choose from. Starting point: ours.
LEAST_FALL = 0.05


@dataclass(frozen=True)
class RateCurve:
    """What a range test saw: rates, losses and smoothed losses of its steps, and what follows.

    suggestion: the rate at which the smoothed loss fell fastest, None where there is no usable slope; reason: why.
    """

    rates: list[float]
    losses: list[float]
    smoothed: list[float]
    suggestion: float | None
    reason: str


def find_rate(job: Job, *, lowest: float = 1e-7, highest: float = 10.0, num: int = 100) -> RateCurve:
    """Trains `num` steps while the rate rises exponentially from `lowest` to `highest`; undoes them all.

    Ends early when the loss has diverged or is not finite. Groups keep the ratios of their rates.
    """
    factors = [lowest * (highest / lowest) ** (i / max(num - 1, 1)) for i in range(num)]
    scale = [rate / job.base_rates[0] for rate in job.base_rates]
    rates: list[float] = []
    losses: list[float] = []
    smoothed: list[float] = []
    with undone(job):
        to_train_mode(job.model, job.resting)
        windows = itertools.chain.from_iterable(job.feed.epoch(epoch) for epoch in itertools.count())
        for factor, window in zip(factors, windows, strict=False):
            trial = replace(job, schedule=constant(), base_rates=[factor * s for s in scale], saver=None)
            row = take_step(trial, window, Progress(step=1), 0.0).row
            loss = row["loss"]
            if loss is None or not math.isfinite(loss):
                break
            rates.append(factor)
            losses.append(loss)
            smoothed = smooth(losses)
            if smoothed[-1] > DIVERGED * min(smoothed):
                break
    suggestion, reason = choose(rates, smoothed)
    return RateCurve(rates, losses, smoothed, suggestion, reason)


def smooth(losses: Sequence[float]) -> list[float]:
    """The bias-corrected exponential average: its first value is the first loss."""
    average, values = 0.0, []
    for count, loss in enumerate(losses, 1):
        average = SMOOTHING * average + (1 - SMOOTHING) * loss
        values.append(average / (1 - SMOOTHING**count))
    return values


def choose(rates: Sequence[float], smoothed: Sequence[float]) -> tuple[float | None, str]:
    """The rate of the steepest fall before the minimum, measured over a tenth of the curve; or None and why."""
    if len(rates) < 10:
        return None, f"no usable slope: the loss was not finite after {len(rates)} steps"
    lowest = min(range(len(smoothed)), key=lambda i: smoothed[i])
    fall = (smoothed[0] - smoothed[lowest]) / abs(smoothed[0]) if smoothed[0] else 0.0
    if fall < LEAST_FALL:
        return None, f"no usable slope: the smoothed loss fell by {fall:.1%} at most; {LEAST_FALL:.0%} are needed"
    width = max(len(rates) // 20, 1)
    steps = range(width, max(lowest - width, width) + 1)
    steepest = min(steps, key=lambda i: smoothed[min(i + width, len(smoothed) - 1)] - smoothed[i - width])
    return rates[steepest], f"the smoothed loss falls fastest here, and by {fall:.0%} in all"
