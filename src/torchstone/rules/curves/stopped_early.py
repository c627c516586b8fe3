"""RUN807: a run that ends while it still gets clearly better."""

from __future__ import annotations

import math
from collections.abc import Iterator

from torchstone.core.curves import Curve, History
from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._curves import at, blocks, is_flat, is_share, level, rate_has_decayed, toy_history

NUM, PARTS, SHARE, ERRORS, GOOD = 10, 5, 0.1, 3.0, 0.95


def check(history: History) -> Iterator[Finding]:
    """One finding where the last fifth of both losses lies a tenth below the fifth before, at a rate still high."""
    losses = [curve.finite() for curve in (history.train, history.validation) if curve is not None]
    if not losses or history.is_game or rate_has_decayed(history) or _is_good(history):
        return
    gains = [_gain(curve) for curve in losses]
    if any(gain is None for gain in gains):
        return
    curve, gain = losses[-1], gains[-1]
    what = (f"{curve.name} fell by another {gain:.0%} in the last fifth of the run and is best at its end, "
            f"{curve.values[-1]:.4g} at step {curve.steps[-1]:g}")
    yield found(RULE, what, where=at(history, curve, len(curve) - 1), evidence={"gain": gain, "threshold": SHARE})


def _gain(curve: Curve) -> float | None:
    """The share by which the last fifth lies below the one before, if that is clear and the end the best."""
    if len(curve) < NUM or min(curve.values) <= 0:
        return None
    *_, (before, error), (last, last_error) = parts = blocks(curve.values, PARTS)
    late = curve.values[-max(2, len(curve) // 10) :]
    is_best = last <= min(mean for mean, _ in parts) and min(late) <= min(curve.values)
    is_clear = before - last > max(SHARE * before, ERRORS * math.hypot(error, last_error) / 2)
    return (before - last) / before if is_best and is_clear else None


def _is_good(history: History) -> bool:
    """Whether the score has settled or is nearly full: then a falling loss promises nothing."""
    score = history.score.finite() if history.score else None
    if score is None or len(score) < NUM:
        return False
    is_full = not history.is_lower_better and is_share(score) and level(score.values) > GOOD
    return is_full or is_flat(score.values[-max(4, 2 * len(score) // 5) :], share=0.01)


RULE = Rule(
    code="RUN807",
    name="stopped_early",
    severity="advice",
    summary="the run ends while it still gets better",
    why="What it would have reached is not known; a comparison with a longer run says little.",
    fix="Train on from the last checkpoint, or plan more epochs; a schedule that falls to zero settles the end.",
    source="Tuning Playbook (Google 2023), how long to train; the tenth is ours: starting point, tune on your data",
    check=check,
    trips=lambda: toy_history(20, train=lambda e: 2.0 * 0.9**e, validation=lambda e: 2.1 * 0.91**e,
                              score=lambda e: 0.2 + 0.02 * e),
    passes=toy_history,
    wrong_when="the time was up on purpose",
    threshold="a tenth in the last fifth of the run, both losses, score below 0.95 and not flat",
    confidence="likely",
)
