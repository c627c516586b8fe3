"""The maths of curves, shared by all rules that look at losses over time, and small histories for their examples."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from torchstone.core.curves import Curve, History
from torchstone.core.finding import Where
from torchstone.rules._numbers import mean_and_error

Values = Sequence[float]
# What turns the median distance from 0 into the standard deviation of a normal distribution.
_MAD = 1.4826


def noise(values: Values) -> float:
    """The standard deviation of single points about a smooth course, from second differences; infinite below 5 points.

    A straight line has none, whatever its slope; the median forgets single jumps.
    """
    if len(values) < 5:
        return math.inf
    bends = [abs(a - 2 * b + c) for a, b, c in zip(values, values[1:], values[2:], strict=False)]
    return _MAD * statistics.median(bends) / math.sqrt(6)


def first_and_last(values: Values, parts: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Mean and standard error of the first and of the last of so many equal parts."""
    size = max(1, len(values) // parts)
    return mean_and_error(values[:size]), mean_and_error(values[-size:])


def fall(values: Values, parts: int) -> tuple[float, float]:
    """By how much the lowest later part lies below the first, and the standard error of that from `noise`.

    A steep beginning spreads the first part without being chance, so that its own standard error would hide a fall.
    """
    means = [mean for mean, _ in blocks(values, parts)]
    chance = noise(values) if len(values) >= 5 else 0.0
    return means[0] - min(means[1:]), chance * math.sqrt(2 * parts / len(values))


def has_fallen(values: Values, parts: int, *, share: float, errors: float) -> bool:
    """Whether any later part is lower than the first, by `share` of the first value and so many standard errors."""
    by, error = fall(values, parts)
    return by > max(share * abs(values[0]), errors * error)


def clear_rise(losses: Values, *, since: int, share: float, errors: float) -> float:
    """How far above the best the mean of the last `since` must lie to be no chance: `share` of the best, and so many
    standard errors beyond what the luckiest of as many points lies low, sqrt(2 ln n) deviations.
    """
    luck = math.sqrt(2 * math.log(len(losses)))
    return max(share * abs(min(losses)), (luck + errors / math.sqrt(since)) * noise(losses))


def best_before_rise(losses: Values, *, since: int, share: float, errors: float) -> int | None:
    """Where losses were best, if the last `since` lie above that by `share` each, and by a `clear_rise` together."""
    best = min(range(len(losses)), key=losses.__getitem__)
    after = losses[best + 1 :]
    if len(after) < since or min(after[-since:]) <= losses[best] + share * abs(losses[best]):
        return None
    needed = losses[best] + clear_rise(losses, since=since, share=share, errors=errors)
    return best if sum(after[-since:]) / since > needed else None


def blocks(values: Values, num: int) -> list[tuple[float, float]]:
    """Mean and standard error of `num` equal stretches of at least as many values."""
    edges = [len(values) * part // num for part in range(num + 1)]
    return [mean_and_error(values[low:high]) for low, high in pairwise(edges)]


def between(curve: Curve, other: Curve, low: int, high: int) -> Values:
    """The values of `curve` from point `low` of `other` to its point `high`.

    Where both have a common axis it is used; where one counts epochs and the other steps, both are stretched to the
    same length.
    """
    ends = curve.steps[-1], other.steps[-1]
    scale = 1.0 if ends[1] > 0 and 0.5 <= ends[0] / ends[1] <= 2 else ends[0] / ends[1] if ends[1] > 0 else 1.0
    begin, end = scale * other.steps[low], scale * other.steps[high]
    return curve.values[bisect_left(curve.steps, begin) : bisect_right(curve.steps, end)]


def around(curve: Curve, other: Curve, place: int, width: int = 1) -> float | None:
    """The mean of `curve` around point `place` of `other`: since its last point and up to `width` points of `other`
    later; None where `curve` has no value there.
    """
    last = len(other) - 1
    values = between(curve, other, max(0, place - width), min(last, place + width))
    return sum(values) / len(values) if values else None


def level(values: Values, share: float = 0.1) -> float:
    """The median of the last tenth, at least of three values."""
    return statistics.median(values[-max(3, int(share * len(values))) :])


def is_flat(values: Values, *, share: float = 0.02, errors: float = 2.0) -> bool:
    """Whether the second half of these values is where the first was, within `share` of it or chance."""
    (first, first_error), (last, last_error) = first_and_last(values, 2)
    return abs(first - last) <= max(share * abs(first), errors * math.hypot(first_error, last_error))


def rate_has_decayed(history: History, to: float = 0.1) -> bool:
    """Whether the learning rate ends below a tenth of its highest value."""
    rates = history.rate.finite().values if history.rate else ()
    return bool(rates) and rates[-1] < to * max(rates)


def is_share(curve: Curve) -> bool:
    """Whether a score lies between 0 and 1 throughout."""
    return bool(curve.values) and min(curve.values) >= 0 and max(curve.values) <= 1


def at(history: History, curve: Curve, place: int | None = None) -> Where:
    """Where in a run a point of a curve lies; steps that are no whole numbers are rounded down."""
    step = None if place is None else int(curve.steps[place])
    return Where(path=history.run or None, field=curve.name, step=step)


def toy_curve(name: str, values: Values, every: int = 1) -> Curve:
    """A curve at the steps `every`, 2 `every`, …"""
    return Curve(name, tuple(float(every * (place + 1)) for place in range(len(values))), tuple(map(float, values)))


def toy_history(num: int = 40, **different: Callable[[int], float] | Any) -> History:
    """A sound run of `num` epochs: losses fall from 2.3, accuracy rises to 0.93; `train=lambda epoch: …` changes one.

    Each curve may be a function of the epoch from 0, or None; other fields are values.
    """
    courses: dict[str, Any] = {
        "train": lambda e: 0.25 + 2.05 * math.exp(-e / 6) + 0.01 * math.sin(7 * e),
        "validation": lambda e: 0.33 + 1.95 * math.exp(-e / 6) + 0.01 * math.sin(5 * e),
        "train_score": lambda e: 0.95 - 0.8 * math.exp(-e / 5) + 0.003 * math.sin(3 * e),
        "score": lambda e: 0.93 - 0.8 * math.exp(-e / 5) + 0.004 * math.sin(5 * e),
    }
    made: dict[str, Any] = {}
    for name, course in {**courses, **different}.items():
        is_course = callable(course)
        made[name] = toy_curve(name, [course(epoch) for epoch in range(num)]) if is_course else course
    return History("toy", **made)
