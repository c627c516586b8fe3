"""The points of a logged series as they come in: bounded, and put in order where a log repeats or goes back."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from torchstone.core.curves import Curve

# Points kept of one series: beyond that every second one goes, again and again.
LIMIT = 100_000
# More steps back than this share of all points are a log out of order; fewer are restarts.
UNORDERED = 0.05


@dataclass(frozen=True)
class Log:
    """One run as it was logged. series: by name; notes: what a reader should know of how it was read.

    trace: the rows of a run of torchstone; rows: those of a watched loop.
    """

    name: str
    kind: str
    series: dict[str, Curve]
    notes: tuple[str, ...] = ()
    trace: list[dict[str, Any]] | None = None
    rows: list[dict[str, Any]] | None = None


@dataclass
class Points:
    """One series while it is read; `add` keeps at most LIMIT points, and the first that is no finite number."""

    steps: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))
    one_in: int = 1
    num: int = 0
    first_bad: tuple[float, float] | None = None

    def add(self, step: float, value: float) -> None:
        """Takes the next point."""
        if self.first_bad is None and not math.isfinite(value):
            self.first_bad = (step, value)
        if self.num % self.one_in == 0:
            self.steps.append(step)
            self.values.append(value)
            if len(self.values) > LIMIT:
                del self.steps[1::2]
                del self.values[1::2]
                self.one_in *= 2
        self.num += 1

    def curve(self, name: str) -> tuple[Curve, list[str]]:
        """The points as a curve whose steps never fall, and what was done for that."""
        steps, values, notes = ordered(list(self.steps), list(self.values))
        if self.first_bad is not None and all(map(math.isfinite, values)):
            place = bisect_left(steps, self.first_bad[0])
            steps.insert(place, self.first_bad[0])
            values.insert(place, self.first_bad[1])
        if self.one_in > 1:
            notes.append(f"has {self.num:,} points, of which one in {self.one_in} is judged")
        return Curve(name, tuple(steps), tuple(values), self.one_in), notes

    def thinned(self, name: str, most: int) -> Curve:
        """At most so many of the points, evenly spread and the last among them; for steps that never fall."""
        every = -(-len(self.values) // most) or 1
        steps, values = self.steps[::-every][::-1], self.values[::-every][::-1]
        return Curve(name, tuple(steps), tuple(values), self.one_in * every)


def ordered(steps: list[float], values: list[float]) -> tuple[list[float], list[float], list[str]]:
    """Steps that never fall, with their values, and a note of what was changed.

    A step back to the beginning starts another attempt, of which the last is kept; a step back to the middle is a
    resumed run, whose new points replace the old ones; many steps back are a log out of order, which is sorted. Where
    all steps are the same or no numbers they are counted instead.
    """
    if len(steps) > 1 and (min(steps) == max(steps) or not all(map(math.isfinite, steps))):
        return [float(place) for place in range(len(steps))], values, ["has no steps: its points are counted"]
    backs = [place + 1 for place, (one, other) in enumerate(pairwise(steps)) if other < one]
    if not backs:
        return steps, values, []
    starts = [place for place in backs if steps[place] <= steps[0]]
    if len(backs) > max(3, UNORDERED * len(steps)) and len(starts) < len(backs) / 2:
        order = sorted(range(len(steps)), key=steps.__getitem__)
        return [steps[p] for p in order], [values[p] for p in order], ["was out of order: it is sorted by step"]
    notes = []
    if starts:
        notes.append(f"starts anew {len(starts)} times: only the points after the last start are judged")
        steps, values = steps[starts[-1] :], values[starts[-1] :]
    kept: list[int] = []
    for place, step in enumerate(steps):
        while kept and steps[kept[-1]] > step:
            kept.pop()
        if kept and place and steps[place - 1] > step:  # resumed: this very step is logged again
            while kept and steps[kept[-1]] == step:
                kept.pop()
        kept.append(place)
    if len(kept) < len(steps):
        notes.append(f"goes back in its steps: {len(steps) - len(kept):,} points that were logged again are left out")
    return [steps[p] for p in kept], [values[p] for p in kept], notes


def series_of(points: dict[str, Points]) -> tuple[dict[str, Curve], tuple[str, ...]]:
    """All series as curves, and the notes about them: one sentence for those that share it."""
    series: dict[str, Curve] = {}
    said: dict[str, list[str]] = {}
    for name, one in points.items():
        series[name], notes = one.curve(name)
        for note in notes:
            said.setdefault(note, []).append(name)
    told = [f"{', '.join(names[:3])}{' and others' if len(names) > 3 else ''}: {note}" for note, names in said.items()]
    return series, tuple(told)
