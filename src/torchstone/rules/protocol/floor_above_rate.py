"""RUN334: a schedule whose lowest rate lies above the rate."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_schedule


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per plateau or cosine schedule that can only keep or raise the rate."""
    for row in of(rows, "schedule"):
        floors, rates = row.get("floors") or [], row.get("rates") or []
        if floors and rates and min(floors) > max(rates) > 0:
            what = f"{row['kind']} goes down to {min(floors):g}, and the rate it starts from is {max(rates):g}"
            yield found(RULE, what, where=at(row),
                        evidence={"floor": min(floors), "rate": max(rates)})



RULE = Rule(
    code="RUN334",
    name="floor_above_rate",
    severity="error",
    summary="the schedule's lowest rate is above the first one",
    why="A plateau schedule then never changes the rate, and a cosine climbs instead of falling.",
    fix="Set min_lr (eta_min) well below the optimizer's lr.",
    source="DeepACSA#36; torch 2.14 documentation, CosineAnnealingLR",
    check=check,
    trips=lambda: toy_loop(more=[toy_schedule(floors=[1e-2], rates=[1e-3])]),
    passes=lambda: toy_loop(more=[toy_schedule(floors=[1e-5], rates=[1e-3])]),
    wrong_when="a rate that rises along a cosine is meant",
)
