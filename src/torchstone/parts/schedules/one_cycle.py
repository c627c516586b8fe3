"""One rise and one fall of the learning rate, and of momentum the other way round."""

from __future__ import annotations

import math

from torchstone.core.errors import StoneError
from torchstone.parts.schedules import Schedule, WithMomentum


def one_cycle(
    *,
    peak: float = 0.3,
    start: float = 0.04,
    end: float = 4e-6,
    momentum: tuple[float, float] | None = (0.85, 0.95),
) -> Schedule:
    """Multiplier that rises along a cosine from `start` to 1, then falls along one to `end` (Smith & Topin 2019).

    peak: share of the run after which the top is reached. start, end: shares of the top rate. momentum: the lowest,
    at the peak, and the highest, at both ends; it takes the place of the optimizer's own (`momentum`, or the first of
    `betas`), which must have one; null: momentum stays. The defaults are those of
    torch.optim.lr_scheduler.OneCycleLR (0.3, 1/25, 1/25 / 10,000, 0.85 and 0.95), whose values it gives.
    """
    if not 0 < peak < 1 or not 0 <= start <= 1 or not 0 <= end <= 1:
        raise StoneError(
            f"peak {peak:g}, start {start:g}, end {end:g}: peak must be between 0 and 1, the others from 0 to 1",
            where="schedule", fix="leave them out for peak 0.3, start 0.04, end 4e-6",
        )
    rate = _cycle(peak, start, 1.0, end)
    if momentum is None:
        return rate
    low, high = momentum
    if not 0 < low <= high < 1:
        raise StoneError(f"momentum is from {low:g} to {high:g}; both must be between 0 and 1, the lowest first",
                         where="schedule.momentum", fix="leave it out for 0.85 to 0.95")
    return WithMomentum(rate, _cycle(peak, high, low, high))


def _cycle(peak: float, start: float, middle: float, end: float) -> Schedule:
    """From `start` to `middle`, reached after the share `peak` of the run, then to `end` at its last step."""

    def schedule(step: int, total: int) -> float:
        if total <= 1:
            return middle
        top, last = max(peak * total - 1, 0.0), total - 1
        step = min(step, last)
        if step < top:
            return _between(start, middle, step / top)
        return _between(middle, end, (step - top) / (last - top))

    return schedule


def _between(first: float, second: float, progress: float) -> float:
    """From `first` at progress 0 along half a cosine to `second` at 1."""
    return second + (first - second) * (1 + math.cos(math.pi * progress)) / 2
