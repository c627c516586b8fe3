"""RUN804: a sudden jump of the training loss that does not come back."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from torchstone.core.curves import History
from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._curves import Values, at, blocks, toy_history

WINDOW, TIMES, WAIT, BACK, FLOOR = 50, 8.0, 20, 2.0, 0.1


def check(history: History) -> Iterator[Finding]:
    """One finding at the first loss above 8 medians of the 50 before, where none comes back below 2 of them."""
    curve = history.train.finite() if history.train else None
    if curve is None or history.is_game or len(curve) <= WINDOW + WAIT or min(curve.values) < 0:
        return
    place = _spike(curve.values)
    if place is None:
        return
    median = statistics.median(curve.values[place - WINDOW : place])
    what = (f"{curve.name} jumps to {curve.values[place]:.3g} at step {curve.steps[place]:g}; the median of the "
            f"{WINDOW} points before is {median:.3g}, and none of the {len(curve) - place - 1:,} points since is near")
    yield found(RULE, what, where=at(history, curve, place),
                evidence={"value": curve.values[place], "median": median, "threshold": TIMES, "window": WINDOW})


def _spike(values: Values) -> int | None:
    lowest, lows = float("inf"), [0.0] * len(values)  # the lowest value from each place on
    for place in range(len(values) - 1, -1, -1):
        lowest = lows[place] = min(lowest, values[place])
    floor = FLOOR * blocks(values, 10)[0][0]
    for place in range(WINDOW, len(values) - WAIT):
        if values[place] > floor and values[place] > TIMES * lows[place - WINDOW]:
            median = statistics.median(values[place - WINDOW : place])
            if values[place] > TIMES * median and lows[place] > BACK * median:
                return place
    return None


RULE = Rule(
    code="RUN804",
    name="spike_stays",
    severity="warning",
    summary="the training loss has jumped and stays up",
    why="One step threw away what many had learnt; the run goes on from a worse place than before.",
    fix="Go on from a checkpoint before the jump with a lower rate or clipped gradients; look at that step's batch.",
    source="PaLM 2022 (restarts before spikes and skips batches); smoothing over 50 and 20 points is our choice",
    check=check,
    trips=lambda: toy_history(120, train=lambda e: 0.3 + 0.01 * (-1) ** e if e < 80 else 4.0),
    passes=lambda: toy_history(120, train=lambda e: 0.3 + 0.01 * (-1) ** e if e != 80 else 4.0),
    wrong_when="another task, loss or data set begins at that step",
    threshold="8 times the median of the 50 points before, never again below 2 times, at least 20 points to the end",
    confidence="likely",
    explains=("RUN803",),
)
