"""What a finding hands on to be drawn: curves over steps, and bars; plain values, few enough to be kept as evidence.

A report draws `evidence["series"]` as curves and `evidence["bars"]` as bars; both are JSON values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torchstone.rules._numbers import is_number

# Points of a curve and bars of a picture: as many as a small picture can show.
MOST_POINTS, MOST_BARS = 60, 24


def points(rows: Iterable[Mapping[str, Any]], key: str, *, step: str = "step") -> list[list[float]]:
    """(step, value) of the rows that hold a number, at most MOST_POINTS of them, evenly chosen, the last one kept."""
    seen = [[row[step], row[key]] for row in rows if is_number(row.get(key))]
    stride = -(-len(seen) // MOST_POINTS) or 1
    kept = seen[::stride]
    return kept if not seen or kept[-1] is seen[-1] else [*kept, seen[-1]]


def bars(what: str, values: Sequence[tuple[str, float]], threshold: float | None = None) -> dict[str, Any]:
    """Named numbers in order, at most MOST_BARS, with what they are and the threshold that a line shows.

    Of more, the largest are kept, in their order.
    """
    kept = list(values)
    if len(kept) > MOST_BARS:
        least = sorted((value for _, value in kept), reverse=True)[MOST_BARS - 1]
        kept = [pair for pair in kept if pair[1] >= least][:MOST_BARS]
    return {"what": what, "values": [[name, value] for name, value in kept], "threshold": threshold, "of": len(values)}
