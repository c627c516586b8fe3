"""Scales of a plot: where a number stands, which ticks it gets, how it is written, and long curves made short."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

# Points per curve: about two per pixel of the width that a chart has on a page.
MAX_POINTS = 400


# Numbers that spread further than this, such as norms of gradients, are drawn by logarithm.
LOG_SPREAD = 100.0


def is_wide(numbers: Sequence[float]) -> bool:
    """Whether all finite numbers are above 0 and spread so far that a straight scale would hide most."""
    finite = [value for value in numbers if math.isfinite(value)]
    return bool(finite) and min(finite) > 0 and max(finite) > LOG_SPREAD * min(finite)


@dataclass(frozen=True)
class Scale:
    """Maps numbers from [low, high] to pixels from `start` to `end`, straight or by logarithm."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        """The pixel of a number; on a logarithmic scale what is not above 0 stands at the low end."""
        low, high = (math.log(self.low), math.log(self.high)) if self.is_log else (self.low, self.high)
        here = (math.log(value) if value > 0 else low) if self.is_log else value
        return self.start + (here - low) / (high - low) * (self.end - self.start)

    def ticks(self, count: int = 5) -> list[float]:
        """Round numbers within the scale, about `count`."""
        return log_ticks(self.low, self.high) if self.is_log else ticks(self.low, self.high, count)


def scale(values: np.ndarray, start: float, end: float, *, is_log: bool = False, from_zero: bool = False) -> Scale:
    """A scale that holds all finite values with a little room; [0, 1] where there are none."""
    import numpy as np

    finite = values[np.isfinite(values)]
    if is_log:
        finite = finite[finite > 0]
        low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.1, 1.0)
        return Scale(low / 1.2, high * 1.2, start, end, is_log=True)
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    if from_zero:
        low = min(low, 0.0)
    room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return Scale(low if from_zero and low == 0 else low - room, high + room, start, end)


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten within [low, high]."""
    raw = (high - low) / max(count, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 12) + 0.0 for i in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten within [low, high]; where they are fewer than two, also 2 and 5 times them."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    tens = [10.0**p for p in powers if low <= 10.0**p <= high]
    if len(tens) >= 2:
        return tens[:: max(1, len(tens) // 6)]
    return [m * 10.0**p for p in powers for m in (1, 2, 5) if low <= m * 10.0**p <= high]


def number(value: float | int | None) -> str:
    """A number as a person reads it: four figures, thousands with commas, a dash for what is undefined."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == int(value) and abs(value) < 1e12:
        return f"{int(value):,}"
    size = abs(value)
    if 1e-3 <= size < 1e4:
        return f"{value:.4g}"
    return f"{value:,.0f}" if 1e4 <= size < 1e9 else f"{value:.3g}"


def score(value: float) -> str:
    """A metric as a person reads it: three decimals below ten, so that value and interval can be compared."""
    return f"{value:.3f}" if math.isfinite(value) and 1e-2 <= abs(value) < 10 else number(value)


@dataclass(frozen=True)
class Curve:
    """One curve: x, y float64 [P] with NaN as a gap, and the envelope low, high [P] where it was made short."""

    name: str
    x: np.ndarray
    y: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None


def curve(name: str, x: Sequence[float] | np.ndarray, y: Sequence[float | None] | np.ndarray) -> Curve:
    """A curve of at most MAX_POINTS: longer ones become means of equal stretches, with their least and greatest."""
    import numpy as np

    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(xs) <= MAX_POINTS:
        return Curve(name, xs, ys)
    edges = np.linspace(0, len(xs), MAX_POINTS + 1).astype(np.int64)[:-1]
    is_seen = np.isfinite(ys)
    num = np.add.reduceat(is_seen.astype(np.int64), edges)
    total = np.add.reduceat(np.where(is_seen, ys, 0.0), edges)
    mean = np.where(num > 0, total / np.maximum(num, 1), np.nan)
    low = np.where(num > 0, np.minimum.reduceat(np.where(is_seen, ys, np.inf), edges), np.nan)
    high = np.where(num > 0, np.maximum.reduceat(np.where(is_seen, ys, -np.inf), edges), np.nan)
    return Curve(name, np.maximum.reduceat(xs, edges), mean, low, high)
