"""`--time`: a run that is over, validated and saved when its time is."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from torchstone.core.errors import StoneError
from torchstone.core.event import Event, Stop

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
# Share of the time that the plan fills; the rest is for what was not measured: other work on the machine, saving.
FILLED = 0.85
# CPU seconds of what comes after the last checkpoint but for validation: reading it, judging, the report. Measured
# 2026-12-02 on 120 pictures: 1.2 s of wall time at rest, 3 s on a machine with four times the work it has cores for.
ENDING_S = 2.0
MOST_SLOWNESS = 10.0  # wall time to CPU time; more is waiting for something else
Clock = Callable[[], float]


def seconds_of(text: str) -> float:
    """`90s`, `10m`, `1.5h` or `1h30m` in seconds; raises StoneError for anything else."""
    found = re.findall(r"(\d+(?:\.\d+)?)([smh])", text.strip().lower())
    if not found or "".join(number + unit for number, unit in found) != text.strip().lower():
        raise StoneError(f"'{text}' is no length of time", where="--time", fix="write it as 90s, 10m or 1h30m")
    total = sum(float(number) * UNITS[unit] for number, unit in found)
    if total <= 0:
        raise StoneError("no time is left to train in", where="--time", fix="give it some seconds")
    return total


class TimeLimit:
    """An observer that ends the run early enough for what comes after its last step to be inside the limit.

    deadline: of `clock`, in seconds, at which all must be over. The reserve is twice the longest validation seen so
    far (at first `validation_s`, as measured): the last one and the predictions; twice the longest checkpoint:
    written, and read again; and ENDING_S on a machine as slow as this one was until the first step.
    begun: of `clock`, when the command began, None for now; clock: wall time; cpu: CPU seconds of this process.
    """

    def __init__(
        self, deadline: float, validation_s: float, *, begun: float | None = None,
        clock: Clock = time.monotonic, cpu: Clock = time.process_time,
    ) -> None:  # fmt: skip
        self._deadline, self._validation_s, self._pause_s, self._step_s = deadline, validation_s, 0.0, 0.0
        self._clock, self._cpu, self._slowness = clock, cpu, 1.0
        self._begun = clock() if begun is None else begun

    def __call__(self, event: Event) -> Stop | None:
        if event.kind == "start":
            self._slowness = min(max((self._clock() - self._begun) / max(self._cpu(), 1e-3), 1.0), MOST_SLOWNESS)
        elif event.kind == "validation":
            self._validation_s = max(self._validation_s, float(event.values["seconds"]))
        elif event.kind == "checkpoint":
            self._pause_s = max(self._pause_s, float(event.values["ms"]) / 1e3)
        elif event.kind == "step":
            self._step_s = max(self._step_s * 0.99, (event.values["step_ms"] + event.values["wait_ms"]) / 1e3)
            reserve = 2 * (self._validation_s + self._pause_s + self._step_s) + ENDING_S * self._slowness
            if self._clock() + reserve >= self._deadline:
                return Stop("its time is over", is_final=True)
        return None


class TimeSpent:
    """An observer that tells where the time of a run with a limit went.

    limit_s: in seconds. begun: of `clock`, when the command began.
    """

    def __init__(self, limit_s: float, begun: float, *, clock: Clock = time.monotonic) -> None:
        self._limit_s, self._begun, self._clock = limit_s, begun, clock
        self._started = self._finished = begun

    def __call__(self, event: Event) -> Stop | None:
        if event.kind == "start":
            self._started = self._finished = self._clock()
        elif event.kind == "finish":
            self._finished = self._clock()
        return None

    def to_json(self) -> dict[str, float]:
        """Seconds: limit, before (the first step), training (with validation and checkpoints), after, and in all."""
        now = self._clock()
        spans = {"before": self._started - self._begun, "training": self._finished - self._started,
                 "after": now - self._finished, "all": now - self._begun}  # fmt: skip
        return {"limit": self._limit_s, **{name: round(seconds, 2) for name, seconds in spans.items()}}

    def __str__(self) -> str:
        spans = self.to_json()
        told = (f"{spans['all']:.1f} s of {spans['limit']:g} s: {spans['before']:.1f} s of reading, planning and "
                f"measuring, {spans['training']:.1f} s of training, {spans['after']:.1f} s of judging and report")
        if spans["all"] <= spans["limit"]:
            return told
        told += f"; over by {spans['all'] - spans['limit']:.1f} s"
        return told + (": nothing was left for training, give it more" if spans["before"] > spans["limit"] else "")
