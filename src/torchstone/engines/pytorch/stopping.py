"""Early stopping on any metric (`train.stop_on`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torchstone.core.errors import StoneError
from torchstone.core.plan import Plan
from torchstone.core.task import Direction
from torchstone.parts import metrics


@dataclass(frozen=True)
class StopOn:
    """Ends a run when `patience` validations in a row were not better by more than `min_delta`.

    metric: one of the validation's, or `loss`; it need not be the one that chooses the best checkpoint. direction:
    whether more or less of it is better. min_delta: in units of the metric, as in Keras' EarlyStopping. What it
    remembers is a state of JSON values that the caller keeps: {} at the start of a run.
    """

    metric: str
    direction: Direction
    patience: int
    min_delta: float = 0.0

    def update(self, state: Mapping[str, Any], found: Mapping[str, float | None]) -> dict[str, Any]:
        """The state after one more validation; a metric that is missing or NaN is neither good nor bad.

        Raises StoneError where the validation does not have this metric at all.
        """
        if self.metric not in found:
            raise StoneError(f"no metric is called '{self.metric}'; there are {', '.join(found)}",
                             where="train.stop_on.metric")
        value, best, bad = found[self.metric], state.get("best"), int(state.get("bad", 0))
        if value is None or math.isnan(value):
            return {"best": best, "bad": bad}
        if best is None or (value - best if self.direction == "max" else best - value) > self.min_delta:
            return {"best": value, "bad": 0}
        return {"best": best, "bad": bad + 1}

    def is_over(self, state: Mapping[str, Any]) -> bool:
        """Whether the run is to end."""
        return int(state.get("bad", 0)) >= self.patience


def stop_on(plan: Plan, *, has_validation: bool) -> StopOn | None:
    """What the plan says of it, None where it says nothing; raises StoneError where nothing is validated."""
    metric = plan.get("train.stop_on.metric")
    if metric is None:
        return None
    if not has_validation:
        raise StoneError("there are no validation examples, so that this would have no effect", where="train.stop_on",
                         fix="remove the field, or give data.split a share for validation")
    return StopOn(
        metric, plan.get("train.stop_on.direction") or metrics.direction(metric), int(plan["train.stop_on.patience"]),
        float(plan.get("train.stop_on.min_delta") or 0.0),
    )  # fmt: skip
