"""RUN812: a perfect score at the very first validation."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from torchstone.core.curves import History
from torchstone.core.finding import Finding, Severity
from torchstone.core.rule import Rule, found
from torchstone.rules._curves import Values, at, between, is_share, toy_history

PERFECT, RATIO, LEARNING = 0.9995, 0.25, 0.95


def check(history: History) -> Iterator[Finding]:
    """One finding where the first two scores are 1 while the training examples are not yet learnt.

    A warning if both the loss and the score on training examples say so, else advice.
    """
    score = history.score.finite() if history.score else None
    if score is None or len(score) < 2 or history.is_game or history.is_lower_better or not is_share(score):
        return
    lags = [_loss_lags(history), _score_lags(history)]
    if min(score.values[:2]) < PERFECT or not any(lags):
        return
    severity: Severity = "warning" if all(lags) else "advice"
    what = (f"{score.name} is {score.values[0]:.4g} at the first validation, step {score.steps[0]:g}, while the model "
            "still learns its training examples: the answer may have leaked into the held-out part")
    yield found(RULE, what, where=at(history, score, 0), severity=severity,
                evidence={"score": score.values[0], "threshold": PERFECT, "loss_lags": lags[0], "score_lags": lags[1]})


def _loss_lags(history: History) -> bool:
    """Whether training, between the first two validations, costs four times what the second validation does."""
    train, loss = (curve.finite() if curve else None for curve in (history.train, history.validation))
    if train is None or loss is None or not len(train) or len(loss) < 2:
        return False
    near = _late(between(train, loss, 0, 1))
    return bool(near) and loss.values[1] < RATIO * fmean(near)


def _score_lags(history: History) -> bool:
    """Whether the score on training examples is still low when the second validation is made."""
    known, score = (curve.finite() if curve else None for curve in (history.train_score, history.score))
    if known is None or score is None or not len(known) or len(score) < 2:
        return False
    near = _late(between(known, score, 0, 1))
    return bool(near) and fmean(near) < LEARNING


def _late(values: Values) -> Values:
    """The last quarter, at least one of them: what comes before may be from the first steps of all."""
    return values[-max(1, len(values) // 4) :]


RULE = Rule(
    code="RUN812",
    name="perfect_at_once",
    severity="advice",
    summary="the score is perfect from the first validation on",
    why="Real tasks are hardly ever solved before training is; a target among the inputs, or held-out examples seen in "
        "training, look just so.",
    fix="Train on the held-out part's inputs with shuffled labels, or on one feature at a time: a leak shows at once.",
    source="Kaufman et al. 2012, Leakage in Data Mining; Kapoor and Narayanan 2023, Leakage and the Reproducibility "
           "Crisis",
    check=check,
    trips=lambda: toy_history(score=lambda e: 1.0, validation=lambda e: 0.001, train_score=lambda e: 0.8,
                              train=lambda e: 0.5 + 0.5 * 0.9**e),
    passes=toy_history,
    wrong_when="the classes lie far apart, and training is made hard on purpose",
    threshold="0.9995 twice, while training costs four times as much or scores below 0.95",
    confidence="likely",
    explains=("RUN811",),
)
