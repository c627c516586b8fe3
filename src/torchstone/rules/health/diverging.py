"""RUN609: a loss that climbs far above where it began, and stays a number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import is_number
from torchstone.rules._watched import Row, Rows, at, of, place_of, steps_by_optimizer, toy_loop, toy_loss, toy_pass

NUM, FIRST, TIMES, GUESS, UNKNOWN = 12, 3, 10.0, 3.0, 100.0
CLASSES = ("cross_entropy", "nll_loss", "binary_cross_entropy_with_logits", "binary_cross_entropy")


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the only optimizer's loss is now ten times what it was, and far above what guessing costs."""
    loops = list(steps_by_optimizer(rows))
    guess = cost_of_guessing(rows)
    if len(loops) != 1 or (not has_classes(rows) and not any(row["backwards"] for row in of(rows, "pass"))):
        return
    own = [row for row in loops[0][1] if is_number(row.get("loss"))]
    if len(own) < NUM or any(row.get("has_closure") for row in own):
        return
    losses = [row["loss"] for row in own]
    begin, now = median(losses[:FIRST]), median(losses[-max(4, len(losses) // 4) :])
    begin = min(begin, losses[0])
    if begin <= 0 or now < (UNKNOWN if guess is None else TIMES) * begin or now < GUESS * (guess or 0.0):
        return
    largest = max((row["update_ratio"] for row in own if is_number(row.get("update_ratio"))), default=None)
    moved = f"; an update was {largest:.3g} times the weights" if largest is not None and largest > 0.5 else ""
    rate = own[-1]["lr"]
    what = (f"the loss began at {begin:.4g} and is {now:.4g} over the last steps of {len(own)}{moved} "
            f"(learning rate {rate:g})")
    yield found(RULE, what, where=at(own[-1], place_of(rows, "optimizer")), evidence={
        "first": begin, "last": now, "guess": guess, "largest_update": largest, "lr": rate})  # fmt: skip


def cost_of_guessing(rows: Rows) -> float | None:
    """The cost of a guess, from the first training calls of torch's loss functions; None where none is known."""
    costs = [_cost(row) for row in of(rows, "loss") if row["has_grad"]]
    known = [cost for cost in costs if cost is not None]
    return max(known) if known and len(known) == len(costs) else None


def has_classes(rows: Rows) -> bool:
    """Whether all that is learnt are classes: no targets that may grow with the model, as in reinforcement learning."""
    functions = {row["function"] for row in of(rows, "loss") if row["has_grad"]}
    return bool(functions) and functions <= set(CLASSES)


def _cost(row: Row) -> float | None:
    shape = row.get("input_shape") or []
    if row.get("reduction") != "mean":
        return None
    low, high = row.get("target_low"), row.get("target_high")
    if row["function"] == "mse_loss" and low is not None and high is not None:  # no guess inside costs more
        return float((high - low) ** 2)
    if row["function"] not in CLASSES:
        return None
    is_binary = row["function"].startswith("binary") or len(shape) < 2
    return math.log(2 if is_binary else max(shape[1], 2))


def _loop(growth: float) -> list[dict[str, object]]:
    return toy_loop(40, change=lambda number, row: {"loss": 0.69 * growth**number}, more=[
        toy_loss(), toy_pass(loader=0, backwards=14)])  # fmt: skip


RULE = Rule(
    code="RUN609",
    name="diverging",
    severity="error",
    summary="the loss diverges",
    why="The weights are worse than those that training began with, and each step takes them further away.",
    fix="Lower the learning rate, tenfold for a start; warm up, or clip gradients.",
    source="Godbole et al. 2023, Deep Learning Tuning Playbook: unstable training; the factors: starting point",
    check=check,
    trips=lambda: _loop(1.2),
    passes=lambda: _loop(0.98),
    wrong_when="the targets change while training, as in reinforcement learning",
    threshold=f"{TIMES:g} times the first {FIRST} losses over the last quarter of {NUM} steps or more, and {GUESS:g} "
              f"times a guess; {UNKNOWN:g} times where the cost of a guess is not known",
    confidence="likely",
    explains=("RUN605", "RUN602", "RUN606", "RUN607", "RUN408", "RUN802", "RUN803", "RUN804", "RUN805", "RUN808",
              "RUN813"),
)
