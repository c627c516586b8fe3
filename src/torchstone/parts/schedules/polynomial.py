"""A learning rate that falls along a power."""

from __future__ import annotations

from torchstone.core.errors import StoneError
from torchstone.parts.schedules import Schedule, checked, warmed


def polynomial(*, power: float = 2.0, warmup: float | int = 0.05, floor: float = 0.0) -> Schedule:
    """Multiplier that rises over `warmup`, then falls to `floor` as (1 - progress)^power.

    power: above 0; 1 is a line, 0.9 is common for segmentation (Chen et al. 2017). warmup: share of the run (0.05)
    or number of steps (500); starting points, tune on your data. floor: what is left of the rate at the end, 0 to 1.
    """
    checked(warmup, floor)
    if not power > 0:
        raise StoneError(f"power is {power:g}; it must be above 0", where="schedule.power", fix="start at 2.0")
    return warmed(warmup, lambda progress: floor + (1 - floor) * (1 - progress) ** power)
