"""A learning rate that falls along half a cosine."""

from __future__ import annotations

import math

from torchstone.parts.schedules import Schedule, checked, warmed


def cosine(*, warmup: float | int = 0.05, floor: float = 0.0) -> Schedule:
    """Multiplier that rises over `warmup`, then falls along a cosine to `floor` (Loshchilov & Hutter 2017).

    warmup: share of the run (0.05) or number of steps (500); starting point, tune on your data.
    floor: what is left of the rate at the end, 0 to 1.
    """
    checked(warmup, floor)
    return warmed(warmup, lambda progress: floor + (1 - floor) * (1 + math.cos(math.pi * progress)) / 2)
