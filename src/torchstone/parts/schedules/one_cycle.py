"""One rise and one fall of the learning rate."""

from __future__ import annotations

import math

from torchstone.core.errors import StoneError
from torchstone.parts.schedules import Schedule


def one_cycle(*, peak: float = 0.3, start: float = 0.04, end: float = 4e-6) -> Schedule:
    """Multiplier that rises along a cosine from `start` to 1, then falls along one to `end` (Smith & Topin 2019).

    peak: share of the run after which the top is reached. start, end: shares of the top rate. The defaults are
    those of torch.optim.lr_scheduler.OneCycleLR (0.3, 1/25, 1/25 / 10,000), whose values it gives; momentum stays.
    """
    if not 0 < peak < 1 or not 0 <= start <= 1 or not 0 <= end <= 1:
        raise StoneError(
            f"peak {peak:g}, start {start:g}, end {end:g}: peak must be between 0 and 1, the others from 0 to 1",
            where="schedule", fix="leave them out for peak 0.3, start 0.04, end 4e-6",
        )

    def schedule(step: int, total: int) -> float:
        if total <= 1:
            return 1.0
        top, last = max(peak * total - 1, 0.0), total - 1
        step = min(step, last)
        if step < top:
            return _between(start, 1.0, step / top)
        return _between(1.0, end, (step - top) / (last - top))

    return schedule


def _between(first: float, second: float, progress: float) -> float:
    """From `first` at progress 0 along half a cosine to `second` at 1."""
    return second + (first - second) * (1 + math.cos(math.pi * progress)) / 2
