"""RUN803: a loss that climbs far above where it began, in finite numbers."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.curves import Curve, History
from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._curves import at, blocks, level, toy_history

NUM, ABOVE_FIRST, ABOVE_BEST, NEAR_TOP = 10, 3.0, 5.0, 0.8


def check(history: History) -> Iterator[Finding]:
    """One finding where the training loss ends at its highest, 3 times its beginning and 5 times its best or more."""
    curve = history.train.finite() if history.train else None
    if curve is None or history.is_game or len(curve) < NUM or min(curve.values) < 0 or _is_range_test(history):
        return
    means = [mean for mean, _ in blocks(curve.values, NUM)]
    last = level(curve.values)
    if last > ABOVE_FIRST * means[0] and last > ABOVE_BEST * min(means) and means[-1] >= NEAR_TOP * max(means):
        best = _best(curve, means)
        what = (f"{curve.name} was {means[0]:.3g} at first and {min(means):.3g} at best, around step "
                f"{curve.steps[best]:g}; it has climbed to {last:.3g} since")
        yield found(RULE, what, where=at(history, curve, best),
                    evidence={"first": means[0], "best": min(means), "last": last, "threshold": ABOVE_FIRST})


def _best(curve: Curve, means: list[float]) -> int:
    """The middle of the best tenth."""
    block = means.index(min(means))
    return (2 * block + 1) * len(curve) // (2 * NUM)


def _is_range_test(history: History) -> bool:
    """Whether the rate was raised to the end on purpose, to see where the loss breaks."""
    rates = history.rate.finite().values if history.rate else ()
    return len(rates) > 1 and rates[-1] >= max(rates) and rates[-1] > 100 * rates[0]


RULE = Rule(
    code="RUN803",
    name="loss_diverges",
    severity="warning",
    summary="the training loss climbs away from where it began",
    why="The weights get worse with each step; no later step mends that, though no number is NaN yet.",
    fix="Lower the learning rate, tenfold for a start; clip gradients; warm up. Go on from the best checkpoint.",
    source="Tuning Playbook (Google 2023), instability; the factors are ours: starting point, tune on your data",
    check=check,
    trips=lambda: toy_history(train=lambda e: 0.69 * 1.33**e, validation=None, score=None, train_score=None),
    passes=toy_history,
    wrong_when="the examples get harder as the run goes on (a curriculum), or the loss is weighed anew",
    threshold="the last tenth above 3 times the first and 5 times the best tenth, and near its highest",
    confidence="likely",
    explains=("RUN802", "RUN808", "RUN813"),
)
