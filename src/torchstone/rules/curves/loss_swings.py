"""RUN805: a loss that swings up and down instead of settling."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from itertools import pairwise

from torchstone.core.curves import Curve, History
from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._curves import Values, at, blocks, toy_history

NUM, BLOCKS, TURNS, SWING, FLOOR, ERRORS = 10, 20, 0.6, 0.3, 0.05, 4.0


def check(history: History) -> Iterator[Finding]:
    """One finding per run whose loss turns at most points of its second half, by a third of its level each time."""
    for curve in (history.train, history.validation):
        if curve is None or history.is_game or _turns(history.rate.values if history.rate else ()) > 3:
            continue
        swing = _swing(curve.finite())
        if swing is not None:
            kind = "training" if curve is history.train else "validation"
            what = (f"the {kind} loss {curve.name} swings by {swing:.0%} of its level from one stretch to the next and "
                    "gains nothing")
            yield found(RULE, what, where=at(history, curve), evidence={"swing": swing, "threshold": SWING})
            return


def _swing(curve: Curve) -> float | None:
    """The mean change beside the level in the second half, where it is large, turns and leads nowhere; else None."""
    if len(curve) < NUM or min(curve.values) <= 0:
        return None
    parts = blocks(curve.values, BLOCKS) if len(curve) > 2 * BLOCKS else [(value, 0.0) for value in curve.values]
    half = parts[len(parts) // 2 :]
    means = [mean for mean, _ in half]
    change = statistics.fmean(abs(b - a) for a, b in pairwise(means))
    middle, centre = statistics.median(means), len(means) // 2
    gained = abs(statistics.fmean(means[:centre]) - statistics.fmean(means[centre:]))
    is_chance = change <= ERRORS * statistics.fmean(error for _, error in half)
    if middle < FLOOR * parts[0][0] or is_chance or gained > change or _turns(means) < TURNS * (len(means) - 2):
        return None
    return change / middle if change > SWING * middle else None


def _turns(values: Values) -> int:
    """How often a curve turns from rising to falling or back."""
    changes = [b - a for a, b in pairwise(values) if b != a]
    return sum(a * b < 0 for a, b in pairwise(changes))


RULE = Rule(
    code="RUN805",
    name="loss_swings",
    severity="advice",
    summary="the loss swings instead of settling",
    why="Steps may be so large that they jump across the valley; or the loss is taken over so few examples that chance "
        "moves it.",
    fix="Try a third of the rate or let it decay; average the last weights; validate on more examples.",
    source="AutoTrainer (ICSE 2021) watches for it; the bounds are ours: starting point, tune on your data",
    check=check,
    trips=lambda: toy_history(train=lambda e: 0.9 + 0.5 * (-1) ** e),
    passes=lambda: toy_history(train=lambda e: 0.3 + 2.0 * 0.9**e + 0.03 * (-1) ** e),
    wrong_when="the rate is cyclic and was not logged, or each point is one small batch",
    threshold="turns at 60 % of the points of the second half, by 30 % of the level on average, without gain",
    confidence="likely",
)
