"""RUN343: a schedule that has brought the rate to nothing long before the end."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_schedule

PART, SHARE, STEPS = 1e-4, 0.3, 20


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per scheduler, a third of whose steps began at a ten-thousandth of its highest rate."""
    for row in of(rows, "schedule"):
        low = row.get("low_steps", 0)
        if low >= max(STEPS, SHARE * row["steps"]) and row["rate"] < PART * row["peak"]:
            what = (f"{row['kind']} has brought the rate from {row['peak']:g} to {row['rate']:.2g}; {low} of "
                    f"{row['steps']} of its steps moved nothing")
            yield found(RULE, what, where=at(row),
                        evidence={"peak": row["peak"], "now": row["rate"], "steps": low})


def _decay(low: int) -> list[dict[str, object]]:
    row = toy_schedule(kind="ExponentialLR", peak=0.01, rate=1e-9 if low else 1e-3, low_steps=low)
    return toy_loop(more=[row])


RULE = Rule(
    code="RUN343",
    name="rate_vanished",
    severity="error",
    summary="the rate is gone and the run goes on",
    why="A decay that was meant per epoch is applied per batch: most of the run learns nothing.",
    fix="Step the scheduler once per epoch, or choose the decay per batch.",
    source="starting point; torch 2.14 documentation, ExponentialLR, StepLR",
    check=check,
    trips=lambda: _decay(25),
    passes=lambda: _decay(0),
    wrong_when="the last phase is meant to stand still",
    threshold=f"below {PART:g} of the highest rate in {SHARE:.0%} of the steps, {STEPS} or more",
)
