"""A learning rate that rises, stays, and falls at the end."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from torchstone.core.errors import StoneError
from torchstone.parts.schedules import Schedule, checked, warmed, warmup_steps

_SHAPES: dict[str, Callable[[float], float]] = {
    "linear": lambda left: left,
    "sqrt": lambda left: 1 - math.sqrt(1 - left),
    "cosine": lambda left: (1 - math.cos(math.pi * left)) / 2,
}


def warmup_stable_decay(
    *,
    warmup: float | int = 0.05,
    decay: float | int = 0.2,
    shape: Literal["linear", "sqrt", "cosine"] = "sqrt",
    floor: float = 0.0,
) -> Schedule:
    """Multiplier that rises over `warmup`, stays at 1, and falls to `floor` over the last `decay` of the run.

    Source: Hu et al. 2024 (MiniCPM); shape `sqrt`, 1 - sqrt(progress of the fall), and a fall of 20 %: Hägele et al.
    2024. A run may be made longer later from any checkpoint before the fall.

    warmup, decay: shares of the run (0.05) or numbers of steps (500). floor: what is left at the end, 0 to 1.
    """
    checked(warmup, floor)
    checked(decay)
    if shape not in _SHAPES:
        raise StoneError(f"shape is '{shape}'; there are {', '.join(_SHAPES)}", where="schedule.shape")
    rise = warmed(warmup, lambda progress: 1.0)

    def schedule(step: int, total: int) -> float:
        falling = min(warmup_steps(decay, total), total)
        left = (total - min(step, total)) / falling if falling else 1.0
        top = rise(min(step, total - 1), total)
        return top if left >= 1 else min(top, floor + (1 - floor) * _SHAPES[shape](left))

    return schedule
