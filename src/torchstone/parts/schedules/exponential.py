"""A learning rate that falls by the same share at every step."""

from __future__ import annotations

from torchstone.core.errors import StoneError
from torchstone.parts.schedules import Schedule, checked, warmed


def exponential(*, end: float = 0.01, warmup: float | int = 0.05) -> Schedule:
    """Multiplier that rises over `warmup`, then falls to `end` by the same factor at every step.

    end: what is left of the rate at the end, above 0 to 1: of n steps each takes a factor of end^(1/n). warmup:
    share of the run (0.05) or number of steps (500). Starting points, tune on your data.
    """
    checked(warmup)
    if not 0 < end <= 1:
        raise StoneError(f"end is {end:g}; it must be above 0, at most 1", where="schedule.end", fix="start at 0.01")
    return warmed(warmup, lambda progress: float(end**progress))
