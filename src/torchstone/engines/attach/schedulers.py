"""Steps of learning-rate schedulers: before or after the optimizer, how often, and past their end."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.optim import lr_scheduler
from torch.optim.optimizer import Optimizer

from torchstone.engines.attach.backward import Backwards
from torchstone.engines.attach.optimizers import Optimizers, rates_of
from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder, Row, safely, users_names
from torchstone.engines.attach.wheels import Wheel

# Share of its highest value below which a rate counts as gone.
LOW = 1e-4


@dataclass
class Clock:
    """One scheduler: its row, which is brought up to date at each of its steps."""

    row: Row
    wheel: Wheel
    depth: int = 0
    waits: bool = False


class Schedulers:
    """Every step of every scheduler of torch.optim.lr_scheduler and of those derived from its classes."""

    def __init__(self, recorder: Recorder, optimizers: Optimizers, backwards: Backwards) -> None:
        self.recorder, self._optimizers, self._backwards = recorder, optimizers, backwards
        self._clocks: weakref.WeakKeyDictionary[Any, Clock] = weakref.WeakKeyDictionary()
        self._number = itertools.count()
        self._depth = 0
        backwards.on_backward.append(self._backward_came)

    def attach(self, patches: Patches) -> None:
        """Wraps `step` of each class that has its own."""
        for owner in list(vars(lr_scheduler).values()):
            is_scheduler = isinstance(owner, type) and issubclass(owner, lr_scheduler.LRScheduler)
            if is_scheduler and "step" in vars(owner):
                patches.replace(owner, "step", self._wrapped)

    def _wrapped(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def step(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            # a scheduler steps once while it is built, and one of several steps the others inside
            is_first = getattr(scheduler, "_step_count", 1) == 0 or getattr(scheduler, "_is_initial", False)
            if self._depth == 0 and not is_first:
                self._see(scheduler, args, kwargs)
            self._depth += 1
            try:
                return original(scheduler, *args, **kwargs)
            finally:
                self._depth -= 1
                if self.recorder.is_on and self._depth == 0 and scheduler in self._clocks:
                    self._clocks[scheduler].row["last_epoch"] = getattr(scheduler, "last_epoch", None)

        return step

    @safely
    def _see(self, scheduler: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        optimizer = getattr(scheduler, "optimizer", None)
        if not isinstance(optimizer, Optimizer):
            return
        clock = self._clocks.get(scheduler)
        if clock is None:
            wheel = self._optimizers.wheel(optimizer)
            row = self.recorder.note("schedule", schedule=next(self._number), **describe(scheduler, wheel.index))
            row["place"] = self.recorder.place(f"schedule {row['schedule']}")
            clock = self._clocks[scheduler] = Clock(row, wheel)
        row, wheel = clock.row, clock.wheel
        row["steps"] += 1
        row["optimizer_steps"] = wheel.steps
        row["at_step"] = self.recorder.step
        rate = rates_of(optimizer)[0]
        row["peak"], row["rate"] = max(rate, row.get("peak", 0.0)), rate
        row["low_steps"] = row.get("low_steps", 0) + (rate < LOW * row["peak"])
        pending = wheel.accumulated > 0 if wheel.sentinel is not None else self._backwards.is_pending
        row["pending"] += pending
        clock.waits = pending
        value = args[0] if args else kwargs.get("metrics")
        if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau) and value is not None and len(row["metrics"]) < 200:
            row["metrics"].append(float(value.detach() if isinstance(value, Tensor) else value))
            row["metric_names"] = sorted({*row["metric_names"], *users_names(value)})

    @safely
    def _backward_came(self, loss: Any) -> None:
        """A pass after a scheduler's step and before the optimizer's: the scheduler steps inside an accumulation."""
        for clock in self._clocks.values():
            if clock.waits and clock.wheel.accumulated > 0:
                clock.row["inside"] += 1
            clock.waits = False


def describe(scheduler: Any, optimizer: int) -> dict[str, Any]:
    """Kind and horizon of a scheduler as plain values: t_max, total_steps, milestones, mode where it has them."""
    milestones = getattr(scheduler, "milestones", None)
    return {
        "optimizer": optimizer, "kind": type(scheduler).__name__, "steps": 0, "pending": 0, "inside": 0,
        "optimizer_steps": 0, "at_step": 0, "last_epoch": getattr(scheduler, "last_epoch", None),
        "t_max": getattr(scheduler, "T_max", None), "total_steps": getattr(scheduler, "total_steps", None),
        "milestones": sorted(milestones) if milestones else None, "mode": getattr(scheduler, "mode", None),
        "metrics": [], "metric_names": [],
        "rates": [float(group.get("initial_lr", group.get("lr", 0.0))) for group in scheduler.optimizer.param_groups],
        "floors": floors(scheduler),
    }  # fmt: skip


def floors(scheduler: Any) -> list[float]:
    """The lowest rates that a plateau or a cosine schedule goes down to; empty for other kinds."""
    if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau):
        return [float(value) for value in scheduler.min_lrs]
    lowest = getattr(scheduler, "eta_min", None)
    return [float(lowest)] if isinstance(lowest, (int, float)) else []
