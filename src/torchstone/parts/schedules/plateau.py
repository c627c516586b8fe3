"""A learning rate that falls when validation no longer gets better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from torchstone.core.errors import StoneError
from torchstone.parts.schedules import checked, warmed


def plateau(
    *,
    factor: float = 0.1,
    patience: int = 5,
    threshold: float = 1e-4,
    cooldown: int = 0,
    floor: float = 0.0,
    warmup: float | int = 0,
) -> Plateau:
    """Multiplier that becomes `factor` times smaller when `patience` validations in a row were no better.

    factor: between 0 and 1. patience: validations without improvement that are borne; the next one cuts. threshold:
    by which share of the best so far a metric must be better (torch.optim.lr_scheduler.ReduceLROnPlateau, mode
    "rel", whose defaults these are, with a patience of 10 epochs there). cooldown: validations after a cut that
    are not counted. floor: smallest multiplier, 0 to 1. warmup: share of the run or number of steps. A metric that
    is missing, NaN or infinite counts as no validation at all (torch counts it as a bad one).
    """
    checked(warmup, floor)
    if not 0 < factor < 1:
        raise StoneError(f"factor is {factor:g}; it must be between 0 and 1", where="schedule.factor", fix="use 0.1")
    if min(patience, cooldown) < 0 or not 0 <= threshold < 1:
        raise StoneError(f"patience {patience}, cooldown {cooldown}, threshold {threshold:g}: none may be below 0",
                         where="schedule", fix="leave them out for 5, 0 and 1e-4")
    return Plateau(factor, patience, threshold, cooldown, floor, warmup)


@dataclass(frozen=True)
class Plateau:
    """The rule; what it remembers is a state of JSON values that the caller keeps: {} at the start of a run."""

    factor: float
    patience: int
    threshold: float
    cooldown: int
    floor: float
    warmup: float | int

    def update(
        self, state: Mapping[str, Any], metric: float | None, direction: Literal["max", "min"] = "min"
    ) -> dict[str, Any]:
        """The state after one more validation; `direction`: whether more or less of the metric is better."""
        best, bad, rest, cuts = (state.get(key, first) for key, first in _FIRST.items())
        if metric is None or not math.isfinite(metric):
            return _state(best, bad, rest, cuts)
        if best is None or self._is_better(metric, best, direction):
            best, bad = metric, 0
        else:
            bad += 1
        if rest > 0:
            rest, bad = rest - 1, 0
        if bad > self.patience:
            bad, rest, cuts = 0, self.cooldown, cuts + 1
        return _state(best, bad, rest, cuts)

    def multiplier(self, state: Mapping[str, Any]) -> float:
        """What is left of the rate: factor to the power of the cuts so far, at least `floor`."""
        return max(self.floor, float(self.factor ** state.get("cuts", 0)))

    def at(self, state: Mapping[str, Any], step: int, total: int) -> float:
        """The multiplier of optimizer step `step` of 0 … total - 1: the warm-up's times the state's."""
        return warmed(self.warmup, lambda progress: 1.0)(step, total) * self.multiplier(state)

    def __call__(self, step: int, total: int) -> float:
        """Raises StoneError: without the state of the run the rate would stay the same, and nobody would be told."""
        raise StoneError("plateau needs the validations of the run; this loop does not hand them to it",
                         where="schedule", fix="use Plateau.update and Plateau.at, or the schedule cosine")

    def _is_better(self, metric: float, best: float, direction: str) -> bool:
        # of the size of the best, so that a negative metric has a threshold too (torch's is on the wrong side there)
        least = self.threshold * abs(best)
        return metric > best + least if direction == "max" else metric < best - least


_FIRST: dict[str, Any] = {"best": None, "bad": 0, "rest": 0, "cuts": 0}


def _state(best: float | None, bad: int, rest: int, cuts: int) -> dict[str, Any]:
    return {"best": best, "bad": bad, "rest": rest, "cuts": cuts}
