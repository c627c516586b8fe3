"""A learning rate that falls along a cosine and starts anew."""

from __future__ import annotations

import math

from torchstone.core.errors import StoneError
from torchstone.parts.schedules import Schedule, checked, warmed


def cosine_restarts(
    *, cycles: int = 3, growth: float = 2.0, warmup: float | int = 0.05, floor: float = 0.0
) -> Schedule:
    """Multiplier that rises over `warmup`, then falls along a cosine to `floor`, `cycles` times.

    Source: Loshchilov & Hutter 2017. The last fall ends exactly with the run. cycles: 1 is `cosine`. growth: each
    cycle lasts so many times the one before; 1 or above, 1 or 2 in the paper. warmup: share of the run (0.05) or
    number of steps (500); before the first cycle only. floor: what is left of the rate at each cycle's end, 0 to 1.
    """
    checked(warmup, floor)
    if cycles < 1 or not growth >= 1:
        raise StoneError(f"cycles {cycles}, growth {growth:g}: both must be 1 or above", where="schedule",
                         fix="leave them out for 3 and 2.0")
    if cycles > 1000 or (cycles - 1) * math.log10(growth) > 6:
        raise StoneError(f"cycles {cycles}, growth {growth:g}: more than 1,000 cycles, or a first one of less than a "
                         "millionth of the last", where="schedule", fix="leave them out for 3 and 2.0")
    lengths = [growth**cycle for cycle in range(cycles)]
    starts = [sum(lengths[:cycle]) / sum(lengths) for cycle in range(cycles + 1)]

    def after(progress: float) -> float:
        # a step that rounding puts a hair before a start belongs to the new cycle
        cycle = max(c for c in range(cycles) if progress >= starts[c] - 1e-12)
        inside = min(max(progress - starts[cycle], 0.0) / (starts[cycle + 1] - starts[cycle]), 1.0)
        return floor + (1 - floor) * (1 + math.cos(math.pi * inside)) / 2

    return warmed(warmup, after)
