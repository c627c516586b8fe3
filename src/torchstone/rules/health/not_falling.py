"""RUN605: a loss that does not fall."""

from __future__ import annotations

import math
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import fell, is_number, mean_and_error
from torchstone.rules._pictures import points
from torchstone.rules._watched import Row, Rows, at, of, place_of, steps_by_optimizer, toy_loop, toy_loss
from torchstone.rules.health._layers import hints

NUM, SHARE, NUM_ERRORS, NEAR_GUESS = 60, 0.02, 2.0, 0.9
LOSSES = ("NllLoss", "CrossEntropy", "BinaryCrossEntropy", "MseLoss", "L1Loss", "SmoothL1Loss", "HuberLoss")


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where one optimizer's plain loss is, after 60 steps or more, where it began and where guessing is."""
    loops = list(steps_by_optimizer(rows))
    if len(loops) != 1:
        return
    own = [row for row in loops[0][1] if is_number(row.get("loss"))]
    if len(own) < NUM or any(row.get("has_closure") or not is_plain(row) for row in own):
        return
    losses = [row["loss"] for row in own]
    fifth = len(losses) // 5
    begin, end = mean_and_error(losses[:fifth]), mean_and_error(losses[-fifth:])
    if fell(begin, end, share=SHARE, errors=NUM_ERRORS):
        return
    first, last = begin[0], end[0]
    entropy = _entropy(rows)
    if entropy is None or last < NEAR_GUESS * entropy:
        return
    what = (f"after {len(own)} steps the loss is {last:.4g}, it began at {first:.4g}; guessing by the frequency of the "
            f"labels costs {entropy:.4g}")
    more, layers = hints(rows)
    yield found(RULE, what + more, where=at(own[-1], place_of(rows, "loss", has_grad=True)),
                evidence={"first": first, "last": last, "guess": entropy, "steps": len(own), **layers,
                          "series": {"loss": points(own, "loss")}})


def is_plain(row: Row) -> bool:
    """Whether backward started at a loss function itself, so that its value means what it says."""
    kinds = row.get("kinds") or []
    return bool(kinds) and all(str(kind).startswith((*LOSSES, "Mean of ")) for kind in kinds)


def _entropy(rows: Rows) -> float | None:
    """The cost of guessing classes by their frequency, from the first training batches; None for other targets."""
    seen = [row["entropy"] for row in of(rows, "loss") if row["has_grad"] and row.get("entropy") is not None]
    return sum(seen) / len(seen) if seen else None


RULE = Rule(
    code="RUN605",
    name="not_falling",
    severity="warning",
    summary="the loss stays where guessing is",
    why="Nothing has been learnt so far, and more steps alone rarely help.",
    fix="Try rates ten times higher and lower; see whether 20 examples can be learnt by heart; check that labels "
        "belong to their inputs.",
    source="Karpathy 2019, A Recipe for Training Neural Networks",
    check=check,
    trips=lambda: toy_loop(
        200, change=lambda number, row: {"loss": 1.39 + 0.02 * math.sin(7 * number)}, more=[toy_loss()]),
    passes=lambda: toy_loop(200, more=[toy_loss()]),
    wrong_when="the labels cannot be predicted from the inputs, or training goes on from weights that have learnt all",
    threshold=f"{SHARE:.0%} and {NUM_ERRORS:g} standard errors over {NUM} steps, and {NEAR_GUESS:g} of the labels' "
              "entropy: starting point",
    confidence="likely",
    explains=("RUN802", "RUN808", "RUN809"),
)
