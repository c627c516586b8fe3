"""Learning-rate multipliers by optimizer step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torchstone.core.errors import StoneError

# (step, total) → multiplier of the learning rate, 0 to 1, for the optimizer step number `step` of 0 … total - 1.
# At `total` and beyond it keeps its final value.
Schedule = Callable[[int, int], float]


@dataclass(frozen=True)
class WithMomentum:
    """A schedule that sets the optimizer's momentum as well: (step, total) → momentum, 0 to below 1."""

    rate: Schedule
    momentum: Schedule

    def __call__(self, step: int, total: int) -> float:
        """The multiplier of the learning rate."""
        return self.rate(step, total)


def warmup_steps(warmup: float | int, total: int) -> int:
    """How many steps a warm-up takes: a share of `total` (a float below 1), or that many steps (a whole number)."""
    return round(warmup * total) if isinstance(warmup, float) else warmup


def checked(warmup: float | int, floor: float = 0.0) -> None:
    """Raises StoneError for a warm-up or a floor that makes no sense."""
    if warmup < 0 or (isinstance(warmup, float) and warmup >= 1):
        raise StoneError(
            f"warmup is {warmup}; it must be a share from 0.0 to below 1.0, or a whole number of steps",
            where="schedule.warmup", fix="for example 0.05 (5 % of the run) or 500 (steps)",
        )
    if not 0 <= floor <= 1:
        raise StoneError(f"floor is {floor:g}; it must be from 0 to 1, a share of the learning rate",
                         where="schedule.floor", fix="start at 0.0")


def warmed(warmup: float | int, after: Callable[[float], float]) -> Schedule:
    """A schedule that rises in a line over `warmup` to 1, then follows `after`, a function of progress 0 to 1.

    The first step already has 1 / warm-up steps: a step with rate 0 would be lost. Progress is 0 at the first step
    after the warm-up and 1 at `total`, so that the last step is not lost either. A warm-up of more steps than the
    run has is cut off where it stands.
    """

    def schedule(step: int, total: int) -> float:
        rising = warmup_steps(warmup, total)
        if rising >= total:
            return (min(step, total - 1) + 1) / rising
        if step < rising:
            return (step + 1) / rising
        return after((min(step, total) - rising) / (total - rising))

    return schedule
