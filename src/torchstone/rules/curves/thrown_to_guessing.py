"""RUN813: a loss that jumped in the beginning, and stays where guessing is ever since."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from torchstone.core.curves import Curve, History
from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._curves import Values, at, has_fallen, is_flat, is_share, toy_history

NUM, JUMP, NEAR, SHARE, ERRORS = 40, 1.5, 0.97, 0.02, 2.0
NUM_EPOCHS, EPOCH_JUMP, GUESS, MOST = 5, 1.15, 0.04, 0.6


def check(history: History) -> Iterator[Finding]:
    """One finding where the training loss jumped early and then never got below its first value, or below a guess."""
    curve = history.train.finite() if history.train else None
    if curve is None or history.is_game or len(curve) < NUM_EPOCHS or min(curve.values) <= 0:
        return
    beginning = curve.values[: max(2, len(curve) // 5)]
    peak, late = max(beginning), median(curve.values[len(curve) // 2 :])
    if not is_flat(curve.values[len(curve) // 2 :]):
        return
    bound = _first_value(curve, peak, late, history) or _guess(history, late, curve.values[0])
    if bound is None:
        return
    level, meaning = bound
    what = (f"{curve.name} went up to {peak:.4g} in the beginning and has stayed at {late:.4g} ever since; {meaning}: "
            "the first steps were so large that nothing can be learnt any more")
    yield found(RULE, what, where=at(history, curve, beginning.index(peak)),
                evidence={"first": curve.values[0], "peak": peak, "late": late, "bound": level})


def _first_value(curve: Curve, peak: float, late: float, history: History) -> tuple[float, str] | None:
    """The first value, where points are as fine as steps: the loss jumped above it, and never came back below."""
    first = curve.values[0]
    is_sick = len(curve) >= NUM and peak >= JUMP * first and late >= NEAR * first
    return (first, f"its first value was {first:.4g}") if is_sick and not _gains(history) else None


def _guess(history: History, late: float, first: float) -> tuple[float, str] | None:
    """What it costs to guess among so many classes as the score says, where both losses cost just that.

    A loss is -log(score) only where all answers are one and the same guess among equally likely classes: an entropy is
    larger than -log of the largest probability for every other distribution.
    """
    loss, score = (curve.finite() if curve else None for curve in (history.validation, history.score))
    if loss is None or score is None or min(len(loss), len(score)) < NUM_EPOCHS or history.is_lower_better:
        return None
    share, held_out = (median(curve.values[len(curve) // 2 :]) for curve in (score, loss))
    if first < EPOCH_JUMP * late or not is_share(score) or not 0 < share < MOST:
        return None
    guess = -math.log(share)
    is_guess = all(abs(value - guess) <= GUESS * guess for value in (late, held_out))
    return (guess, f"guessing costs {guess:.4g} where {score.name} is {share:.4g}") if is_guess else None


def _gains(history: History) -> bool:
    """Whether a validation got better in the second half of its points."""
    sign = 1 if history.is_lower_better else -1
    known: list[tuple[Curve | None, int]] = [(history.validation, 1), (history.score, sign)]
    curves: list[Values] = [[factor * v for v in curve.finite().values] for curve, factor in known if curve]
    return any(len(values) >= 3 and has_fallen(values, 3, share=SHARE, errors=ERRORS) for values in curves)


RULE = Rule(
    code="RUN813",
    name="thrown_to_guessing",
    severity="warning",
    summary="the loss jumped at first and stays at a guess",
    why="A few steps that are far too large push units and outputs to where no gradient comes through; no later step "
        "mends that.",
    fix="Start anew with the learning rate lowered tenfold, or with a warm-up; clip gradients.",
    source="Tuning Playbook (Google 2023), instability; Cover and Thomas 2006, Elements of Information Theory, 2.6: "
           "the uniform distribution has the largest entropy; the bounds are ours: starting point, tune on your data",
    check=check,
    trips=lambda: toy_history(80, train=lambda e: 2.3 if e == 0 else 2.36 + 20 * 0.3**e + 0.01 * (-1) ** e,
                              validation=lambda e: 2.35 + 0.01 * (-1) ** e, train_score=None, score=lambda e: 0.1),
    passes=lambda: toy_history(80, train=lambda e: 2.3 if e == 0 else 0.2 + 20 * 0.3**e + 0.01 * (-1) ** e),
    wrong_when="the examples get harder as the run goes on, or the run began from weights that had learnt all",
    threshold="1.5 times the first value in the first fifth, then 0.97 of it or more for the second half; or, by "
              "epochs, 1.15 times the rest at first, and losses within 4 % of -log(score)",
    confidence="likely",
    explains=("RUN802", "RUN808", "RUN809"),
)
