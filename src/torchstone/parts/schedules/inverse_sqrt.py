"""A learning rate that falls with the root of the steps."""

from __future__ import annotations

import math

from torchstone.parts.schedules import Schedule, checked, warmup_steps


def inverse_sqrt(*, warmup: float | int = 0.05) -> Schedule:
    """Multiplier that rises over `warmup` to 1, then falls as sqrt(warm-up steps / steps so far) (Vaswani et al. 2017).

    It does not depend on the length of the run when warmup is a number of steps, so that a run may go on later; it
    ends at sqrt(warm-up / total). warmup: share of the run (0.05) or number of steps (4000, the paper's); 0 falls
    from the first step on, as 1 / sqrt(steps so far).
    """
    checked(warmup)

    def schedule(step: int, total: int) -> float:
        rising = max(warmup_steps(warmup, total), 1)
        so_far = min(step, total - 1) + 1
        return min(so_far / rising, math.sqrt(rising / so_far))

    return schedule
