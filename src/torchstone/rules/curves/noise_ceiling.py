"""RUN809: the training loss saturates although the weights go on moving."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from torchstone.core.curves import History
from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._curves import at, blocks, is_share, level, rate_has_decayed, toy_curve, toy_history
from torchstone.rules.curves.plateau_far_up import is_still

NUM, NUM_RATIOS, FAR, FELL, GOOD, LOW, HIGH = 12, 4, 0.3, 0.9, 0.9, 1e-4, 3e-2


def check(history: History) -> Iterator[Finding]:
    """One finding where the training loss fell, stays up and still, and updates are of healthy size all the while."""
    train, updates = (curve.finite() if curve else None for curve in (history.train, history.update_ratio))
    if train is None or updates is None or len(train) < NUM or len(updates) < NUM_RATIOS or history.is_game:
        return
    if rate_has_decayed(history) or min(train.values) <= 0 or _is_good(history):
        return
    size = statistics.median(updates.values[len(updates) // 2 :])
    first, last = blocks(train.values, NUM)[0][0], level(train.values)
    if is_still(train) and FAR * first < last < FELL * first and LOW <= size <= HIGH:
        what = (f"{train.name} fell from {first:.4g} and stays at {last:.4g} for the second half of the run, while "
                f"updates are {size:.1e} of the weights, as they should be: some labels may be wrong or undecidable")
        yield found(RULE, what, where=at(history, train, len(train) // 2),
                    evidence={"first": first, "last": last, "update_ratio": size, "threshold": FAR})


def _is_good(history: History) -> bool:
    """Whether a score is high, or none is known: then a loss has a floor of its own, as in diffusion."""
    scores = [curve.finite() for curve in (history.train_score, history.score) if curve is not None]
    shares = [score for score in scores if len(score) and is_share(score)]
    return not shares or any(level(score.values) > GOOD for score in shares)


RULE = Rule(
    code="RUN809",
    name="noise_ceiling",
    severity="advice",
    summary="the training loss saturates far up while the weights still move",
    why="With a share of wrong labels, no model that does not learn by heart gets below their entropy; the same is "
        "seen where the inputs do not tell all.",
    fix="Read the training examples of highest loss, and compare two annotators; then try a larger model.",
    source="Northcutt et al. 2021, Pervasive Label Errors; sizes of updates after Karpathy 2022, makemore part 3",
    check=check,
    trips=lambda: toy_history(
        train=lambda e: 0.9 + 1.3 * 0.5**e + 0.004 * (-1) ** e, train_score=None, score=lambda e: 0.6,
        update_ratio=toy_curve("update_ratio", [1e-3] * 40)),
    passes=lambda: toy_history(update_ratio=toy_curve("update_ratio", [1e-3] * 40)),
    wrong_when="the model is too small for the task: then a larger one gets lower",
    threshold="flat for half of the run at 0.3 to 0.9 of the beginning; updates of 1e-4 to 3e-2; a score below 0.9",
    confidence="likely",
    explains=("RUN808",),
)
