"""RUN806: validation gets worse while training gets better, as the log shows it."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.curves import Curve, History
from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._curves import around, at, best_before_rise, between, clear_rise, toy_history

SINCE, SHARE, ERRORS, NUM = 3, 0.05, 3.0, 6


def check(history: History) -> Iterator[Finding]:
    """One finding where the last three validations lie clearly and 5 % above the best, while training fell."""
    loss, train = (curve.finite() if curve else None for curve in (history.validation, history.train))
    if loss is None or train is None or history.is_game or len(loss) < NUM or not len(train):
        return
    best = best_before_rise(loss.values, since=SINCE, share=SHARE, errors=ERRORS)
    if best is None or not _fell(train, loss, best):
        return
    margin = clear_rise(loss.values, since=SINCE, share=SHARE, errors=ERRORS)
    above = loss.values[best] + margin
    onset = min(len(loss) - 1, 1 + max(place for place in range(best, len(loss)) if loss.values[place] <= above))
    what = (f"{loss.name} was best at step {loss.steps[best]:g} ({loss.values[best]:.4g}), rises clearly from step "
            f"{loss.steps[onset]:g} on and stands at {loss.values[-1]:.4g}, while {train.name} fell")
    yield found(RULE, what, where=at(history, loss, best),
                evidence={"best_step": loss.steps[best], "best": loss.values[best], "onset_step": loss.steps[onset],
                          "last": loss.values[-1], "threshold": margin})  # fmt: skip


def _fell(train: Curve, loss: Curve, best: int) -> bool:
    """Whether the training loss of the last validations is below that around the best one."""
    near, late = around(train, loss, best), between(train, loss, len(loss) - SINCE, len(loss) - 1)
    return near is not None and bool(late) and sum(late) / len(late) < near


RULE = Rule(
    code="RUN806",
    name="overfits_since",
    severity="advice",
    summary="the log shows overfitting, since its best validation",
    why="From there on the model learns its training examples by heart; the last weights are worse than the best ones.",
    fix="Take the weights of the best validation or stop there; more data, augmentation, weight decay or dropout help.",
    source="Prechelt 1998, Early Stopping - But When?; the best of n chance values lies sqrt(2 ln n) deviations low",
    check=check,
    trips=lambda: toy_history(validation=lambda e: 0.5 + 1.8 * 0.7**e + 0.03 * max(0, e - 8) + 0.01 * (-1) ** e),
    passes=toy_history,
    wrong_when="accuracy is what counts and still rises: then probabilities only grow too sure (RUN810)",
    threshold="the last 3 validations above the best by 5 %, and by 3 standard errors beyond the luck of a minimum",
    confidence="likely",
)
