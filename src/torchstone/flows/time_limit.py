"""`--time`: a run that is over, validated and saved when its time is."""

from __future__ import annotations

import re
import time

from torchstone.core.errors import StoneError
from torchstone.core.event import Event, Stop

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
# Share of the time that the plan fills; the rest is for what was not measured: other work on the machine, saving.
FILLED = 0.85


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
    """An observer that ends the run early enough for its last validation and checkpoint to be inside the limit.

    deadline: `time.monotonic()` at which all must be over. The reserve is twice the longest validation seen so far
    (at first `validation_s`, as measured) and the longest checkpoint.
    """

    def __init__(self, deadline: float, validation_s: float) -> None:
        self._deadline, self._validation_s, self._pause_s, self._step_s = deadline, validation_s, 2.0, 0.0

    def __call__(self, event: Event) -> Stop | None:
        if event.kind == "validation":
            self._validation_s = max(self._validation_s, float(event.values["seconds"]))
        elif event.kind == "checkpoint":
            self._pause_s = max(self._pause_s, float(event.values["ms"]) / 1e3)
        elif event.kind == "step":
            self._step_s = max(self._step_s * 0.99, (event.values["step_ms"] + event.values["wait_ms"]) / 1e3)
            reserve = 2 * self._validation_s + self._pause_s + 2 * self._step_s
            if time.monotonic() + reserve >= self._deadline:
                return Stop("its time is over", is_final=True)
        return None
