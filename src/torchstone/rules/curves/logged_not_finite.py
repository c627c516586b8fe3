"""RUN801: a logged loss that is no number."""

from __future__ import annotations

import math
from collections.abc import Iterator

from torchstone.core.curves import Curve, History
from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._curves import at, toy_history

GROWN = 10.0


def check(history: History) -> Iterator[Finding]:
    """One finding per loss with NaN or infinity, at the first: an error if it stays so to the end, else a warning."""
    for curve in (history.train, history.validation):
        bad = [place for place, value in enumerate(curve.values) if not math.isfinite(value)] if curve else []
        if curve is not None and bad:
            yield _told(history, curve, bad)


def _told(history: History, curve: Curve, bad: list[int]) -> Finding:
    first = bad[0]
    before = curve.values[:first]
    is_over = not math.isfinite(curve.values[-1])
    word = "NaN" if math.isnan(curve.values[first]) else "infinite"
    grew = ""
    if len(before) > 1 and before[-1] > GROWN * abs(before[0]):
        grew = f"; it had grown from {before[0]:.3g} to {before[-1]:.3g} before: the run blew up"
    stays = " and there is no number after it" if len(bad) == len(curve) - first else ""
    return found(
        RULE, f"{curve.name} is {word} at step {curve.steps[first]:g}{stays}{grew}",
        where=at(history, curve, first), severity="error" if is_over else "warning",
        evidence={"first_step": curve.steps[first], "num": len(bad), "of": len(curve), "is_to_the_end": is_over},
        fix="Lower the learning rate, tenfold for a start, or clip gradients." if grew else None,
    )  # fmt: skip


RULE = Rule(
    code="RUN801",
    name="logged_not_finite",
    severity="error",
    summary="the log holds a loss that is NaN or infinite",
    why="One such step sets weights to NaN for good, unless something skips it; what comes after is no training.",
    fix="Run it again under torchstone watch, which names the first bad step and its cause: data, rate or overflow.",
    source="IEEE 754: NaN spreads through every sum; PyTorch, torch.amp: a scaler may skip single steps",
    check=check,
    trips=lambda: toy_history(train=lambda e: 2.0 - 0.1 * e if e < 15 else math.nan),
    passes=toy_history,
    wrong_when="the log writes NaN for what was not measured; a column where numbers follow is then read as gaps",
    explains=("RUN803", "RUN804"),
)
