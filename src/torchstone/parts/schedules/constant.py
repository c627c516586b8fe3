"""The same learning rate all the way."""

from __future__ import annotations

from torchstone.parts.schedules import Schedule, checked, warmed


def constant(*, warmup: float | int = 0) -> Schedule:
    """Multiplier 1 at every step, after an optional warm-up.

    warmup: share of the run (0.05) or number of steps (500) over which the rate rises in a line.
    """
    checked(warmup)
    return warmed(warmup, lambda progress: 1.0)
