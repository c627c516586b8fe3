"""RUN811: held-out examples are answered far better than those that were trained on."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from torchstone.core.curves import History
from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._curves import around, at, is_share, level, toy_history

NUM, RATIO, HIGH, AHEAD = 4, 0.5, 0.99, 0.02


def check(history: History) -> Iterator[Finding]:
    """One finding where the validation loss is below half of the training loss and the score is nearly full."""
    train, loss, score = (c.finite() if c else None for c in (history.train, history.validation, history.score))
    if train is None or loss is None or score is None or history.is_game or history.is_lower_better:
        return
    if min(len(train), len(loss), len(score)) < NUM or not is_share(score) or min(train.values) <= 0:
        return
    places = range(len(loss) // 2, len(loss))
    ratios = [loss.values[p] / near for p in places if (near := around(train, loss, p)) is not None]
    if not ratios or statistics.median(ratios) >= RATIO or level(score.values) < HIGH or not _is_ahead(history):
        return
    ratio, high = statistics.median(ratios), level(score.values)
    what = (f"{loss.name} is {ratio:.0%} of {train.name} for the second half of the run, and {score.name} is "
            f"{high:.4g}: held-out examples may be known to the model, unless training is made "
            "hard by dropout, mixing or augmentation")
    yield found(RULE, what, where=at(history, loss, len(loss) - 1),
                evidence={"ratio": ratio, "threshold": RATIO, "score": high, "score_threshold": HIGH})


def _is_ahead(history: History) -> bool:
    """Whether the score on training examples, where it was logged, is lower too."""
    known = history.train_score.finite().values if history.train_score else ()
    return not known or history.score is None or level(history.score.values) > level(known) + AHEAD


RULE = Rule(
    code="RUN811",
    name="held_out_too_good",
    severity="advice",
    summary="validation is far better than training, and nearly perfect",
    why="Held-out examples that stand in the training part, or a feature that gives the answer away, look just so.",
    fix="Look for the same examples on both sides, and for groups that were cut in two; else measure the training "
        "loss in evaluation mode without augmentation.",
    source="Kaufman et al. 2012, Leakage in Data Mining; the bounds are ours: starting point, tune on your data",
    check=check,
    trips=lambda: toy_history(train=lambda e: 0.4 + 1.9 * 0.8**e, validation=lambda e: 0.02 + 0.1 * 0.5**e,
                              train_score=lambda e: 0.85, score=lambda e: 0.998),
    passes=toy_history,
    wrong_when="dropout, mixup or strong augmentation is at work in training only",
    threshold="half of the training loss and a score of 0.99",
    confidence="likely",
)
