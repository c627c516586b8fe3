"""RUN802: a logged training loss that ends where it began."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.curves import History
from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._curves import at, first_and_last, has_fallen, is_share, level, toy_history

NUM, PARTS, SHARE, ERRORS, GOOD = 20, 5, 0.02, 2.0, 0.9


def check(history: History) -> Iterator[Finding]:
    """One finding where no part of the training loss lies below its beginning, and nothing else got better either."""
    curve = history.train.finite() if history.train else None
    if curve is None or history.is_game or len(curve) < NUM or min(curve.values) <= 0:
        return
    (first, _), (last, _) = first_and_last(curve.values, PARTS)
    if has_fallen(curve.values, PARTS, share=SHARE, errors=ERRORS) or last > 2 * first or _gains(history):
        return
    what = f"{curve.name} is {last:.4g} over the last fifth of {len(curve):,} points; over the first it was {first:.4g}"
    yield found(RULE, what, where=at(history, curve, len(curve) - 1),
                evidence={"first": first, "last": last, "threshold": SHARE * first, "points": len(curve)})


def _gains(history: History) -> bool:
    """Whether validation got better, or was good from the start."""
    loss = history.validation.finite().values if history.validation else ()
    if len(loss) >= 3 and has_fallen(loss, 3, share=SHARE, errors=ERRORS):
        return True
    score = history.score.finite() if history.score else None
    if score is None or len(score) < 3:
        return False
    if not history.is_lower_better and is_share(score) and level(score.values) > GOOD:
        return True
    turned = score.values if history.is_lower_better else [-value for value in score.values]
    return has_fallen(turned, 3, share=SHARE, errors=ERRORS)


RULE = Rule(
    code="RUN802",
    name="never_fell",
    severity="warning",
    summary="the logged training loss has not fallen",
    why="The model has learnt nothing from the data so far; more steps alone rarely help.",
    fix="Try rates ten times higher and lower, see whether 20 examples can be learnt by heart, and run the script "
        "under torchstone watch, which looks for the cause.",
    source="Karpathy 2019, A Recipe for Training Neural Networks; the 2 % are runmedic 0.1.1's",
    check=check,
    trips=lambda: toy_history(
        train=lambda e: 2.3 + 0.01 * (-1) ** e, validation=lambda e: 2.31, train_score=None, score=lambda e: 0.1),
    passes=toy_history,
    wrong_when="the run goes on from weights that had learnt all there is, or the loss chases a moving target",
    threshold="2 % of its beginning and 2 standard errors, from 20 points, and no better validation",
    confidence="likely",
    explains=("RUN808", "RUN809"),
)
