"""RUN808: both losses have stopped falling, far up."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.curves import Curve, History
from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._curves import at, blocks, is_flat, is_share, level, rate_has_decayed, toy_history

NUM, FAR, GAP, GOOD = 12, 0.5, 0.2, 0.9


def check(history: History) -> Iterator[Finding]:
    """One finding where both losses are flat for the second half, close together, above half of where they began."""
    train, loss = (curve.finite() if curve else None for curve in (history.train, history.validation))
    if train is None or loss is None or min(len(train), len(loss)) < NUM or history.is_game:
        return
    if rate_has_decayed(history) or min(*train.values, *loss.values) <= 0 or _is_good(history):
        return
    first, last, held_out = blocks(train.values, NUM)[0][0], level(train.values), level(loss.values)
    is_near = abs(held_out - last) < GAP * last
    if is_still(train) and is_still(loss) and is_near and last > FAR * first:
        what = (f"for the second half of the run {train.name} stays at {last:.4g} and {loss.name} at {held_out:.4g}; "
                f"the run began at {first:.4g}, and nothing was learnt by heart")
        yield found(RULE, what, where=at(history, train, len(train) // 2),
                    evidence={"first": first, "last": last, "validation": held_out, "threshold": FAR})


def is_still(curve: Curve) -> bool:
    """Whether the second half of a curve neither falls nor rises."""
    return is_flat(curve.values[len(curve) // 2 :])


def _is_good(history: History) -> bool:
    score = history.score.finite() if history.score else None
    return score is not None and len(score) > 0 and is_share(score) and level(score.values) > GOOD


RULE = Rule(
    code="RUN808",
    name="plateau_far_up",
    severity="advice",
    summary="both losses have settled far up",
    why="The model may be too small or held back too much for this task, the rate may not fit, or the labels may not "
        "follow from the inputs; more epochs alone will not help.",
    fix="Learn 100 examples by heart first; then a larger model, less regularisation, another rate; look at labels.",
    source="Goodfellow et al. 2016, Deep Learning, 11.3; the bounds are ours: starting point, tune on your data",
    check=check,
    trips=lambda: toy_history(train=lambda e: 0.9 + 0.3 * 0.6**e + 0.004 * (-1) ** e,
                              validation=lambda e: 0.92 + 0.3 * 0.6**e + 0.005 * (-1) ** e, score=lambda e: 0.55),
    passes=toy_history,
    wrong_when="the targets hold so much noise that no model can do better",
    threshold="flat within 2 % or chance for half of the run, above half of the beginning, gap below 20 %",
    confidence="likely",
)
