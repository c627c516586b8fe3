"""A learning rate that falls in stairs."""

from __future__ import annotations

from collections.abc import Sequence

from torchstone.core.errors import StoneError
from torchstone.parts.schedules import Schedule, checked, warmed


def step(
    *, milestones: Sequence[float | int] = (0.5, 0.75), factor: float = 0.1, warmup: float | int = 0
) -> Schedule:
    """Multiplier that is `factor` times smaller from each milestone on, after an optional warm-up.

    milestones: shares of the run (0.5) or numbers of steps (30000), counted from the start, rising. The defaults are
    those of He et al. 2016, section 4.2. factor: between 0 and 1. warmup: share of the run or number of steps.
    """
    checked(warmup)
    if not 0 < factor < 1:
        raise StoneError(f"factor is {factor:g}; it must be between 0 and 1", where="schedule.factor", fix="use 0.1")
    if any(_is_unfit(milestone) for milestone in milestones):
        raise StoneError(
            f"milestones are {list(milestones)}; each must be a share between 0.0 and 1.0, or a whole number of steps",
            where="schedule.milestones", fix="for example [0.5, 0.75] or [30000, 45000]",
        )  # fmt: skip
    rise = warmed(warmup, lambda progress: 1.0)

    def schedule(at: int, total: int) -> float:
        at = min(at, total - 1)
        stairs = sum(at >= (round(m * total) if isinstance(m, float) else m) for m in milestones)
        return rise(at, total) * factor**stairs

    return schedule


def _is_unfit(milestone: float | int) -> bool:
    return milestone <= 0 or (isinstance(milestone, float) and milestone >= 1)
