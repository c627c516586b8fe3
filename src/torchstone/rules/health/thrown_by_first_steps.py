"""RUN614: steps so large in the beginning that nothing is learnt after them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import fell, is_number, mean_and_error
from torchstone.rules._pictures import points
from torchstone.rules._watched import Rows, at, of, place_of, steps_by_optimizer, toy_loop, toy_loss
from torchstone.rules.health.not_falling import is_plain

NUM, EARLY, JUMP, MOVED, NEAR_GUESS, NEAR_FIRST, LABELS = 60, 25, 1.5, 0.2, 0.9, 0.95, 16
SHARE, NUM_ERRORS = 0.02, 2.0


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where one optimizer's first steps were huge, and its plain loss stays at a guess ever since."""
    loops = list(steps_by_optimizer(rows))
    if len(loops) != 1:
        return
    own = [row for row in loops[0][1] if is_number(row.get("loss"))]
    guess = _guess(rows)
    if len(own) < NUM or guess is None or any(row.get("has_closure") or not is_plain(row) for row in own):
        return
    losses = [row["loss"] for row in own]
    peak = max(losses[:EARLY])
    moved = max((row["update_ratio"] for row in own[:EARLY] if is_number(row.get("update_ratio"))), default=0.0)
    if peak < JUMP * max(losses[0], guess) and moved < MOVED:
        return
    last = median(losses[-len(losses) // 4 :])
    if losses[0] < NEAR_GUESS * guess or last < NEAR_FIRST * losses[0] or not _is_stuck(losses[EARLY:], guess):
        return
    steps = f", and one update was {moved:.2g} times the weights" if moved >= MOVED else ""
    what = (f"the loss began at {losses[0]:.4g}, went up to {peak:.4g} within {EARLY} steps{steps}, and has stayed at "
            f"{last:.4g} since, where guessing costs {guess:.4g} (learning rate {own[0]['lr']:g})")
    yield found(RULE, what, where=at(own[-1], place_of(rows, "optimizer")), evidence={
        "first": losses[0], "peak": peak, "last": last, "guess": guess, "largest_update": moved, "lr": own[0]["lr"],
        "series": {"loss": points(own, "loss")}})  # fmt: skip


def _guess(rows: Rows) -> float | None:
    """The cost of guessing classes by their frequency, from the first training batches; None for other targets, and
    where a batch holds too few labels to tell.
    """
    seen = [row["entropy"] for row in of(rows, "loss") if row["has_grad"] and row.get("entropy") is not None
            and math.prod(row.get("target_shape") or [0]) >= LABELS]
    return sum(seen) / len(seen) if seen and min(seen) > 0 else None


def _is_stuck(losses: list[float], guess: float) -> bool:
    """Whether the last third is still at the guess, and not below the third before."""
    third = len(losses) // 3
    before, last = mean_and_error(losses[-2 * third : -third]), mean_and_error(losses[-third:])
    return last[0] >= NEAR_GUESS * guess and not fell(before, last, share=SHARE, errors=NUM_ERRORS)


RULE = Rule(
    code="RUN614",
    name="thrown_by_first_steps",
    severity="warning",
    summary="the first steps were so large that nothing is learnt since",
    why="They push units and outputs to where no gradient comes through; what looks like a rate far too low afterwards "
        "is one far too high.",
    fix="Lower the learning rate, tenfold for a start; warm up, or clip gradients.",
    source="Godbole et al. 2023, Deep Learning Tuning Playbook: unstable training; own measurement on the digits with "
           "SGD at rates of 3 and 8; the bounds: starting point",
    check=check,
    trips=lambda: toy_loop(
        200, change=lambda number, row: {"loss": 2.0 + 9.0 * 0.5**number if 1 < number < 30 else 1.4},
        more=[toy_loss()]),
    passes=lambda: toy_loop(
        200, change=lambda number, row: {"loss": row["loss"] + 9.0 * 0.5**number if number > 1 else 1.4},
        more=[toy_loss()]),
    wrong_when="the labels cannot be predicted from the inputs",
    threshold=f"a loss of {JUMP:g} times its first value or an update of {MOVED:g} of the weights within {EARLY} "
              f"steps; then {NEAR_GUESS:g} of the labels' entropy and {NEAR_FIRST:g} of the first loss or "
              f"more, not falling, to step {NUM} at least; batches of {LABELS} labels",
    confidence="likely",
    explains=("RUN603", "RUN605", "RUN607", "RUN204", "RUN206", "RUN802", "RUN808", "RUN809", "RUN813"),
)  # fmt: skip
