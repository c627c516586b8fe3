"""RUN618: a loss that falls below zero without end."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import is_number
from torchstone.rules._pictures import points
from torchstone.rules._watched import Rows, at, place_of, steps_by_optimizer, toy_loop

NUM, LAST, BELOW = 20, 5, 100.0


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer whose loss began above zero and lies a hundred times as far below it."""
    for index, own in steps_by_optimizer(rows):
        losses = [row for row in own if is_number(row.get("loss"))]
        if len(losses) < NUM or losses[0]["loss"] <= 0:
            continue
        first, last = losses[0]["loss"], losses[-1]
        latest, size = [row["loss"] for row in losses[-LAST:]], max(1.0, first)
        if max(latest) < -BELOW / 10 * size and min(latest) < -BELOW * size:
            what = f"the loss began at {first:.4g} and is {last['loss']:.4g}: a term of it can fall without end"
            yield found(RULE, what, where=at(last, place_of(rows, "loss", has_grad=True)),
                        evidence={"optimizer": index, "first": first, "last": last["loss"], "steps": len(own),
                                  "series": {"loss": points(own, "loss")}})


RULE = Rule(
    code="RUN618",
    name="loss_without_floor",
    severity="error",
    summary="the loss runs away below zero",
    why="The model earns more by driving one term to minus infinity than by learning; mostly its sign is wrong.",
    fix="Print each term by itself; the one that runs away needs the other sign (a KL divergence is never negative), "
        "a bound, or a smaller weight.",
    source="Kingma & Welling 2014, Auto-Encoding Variational Bayes, appendix B: the sign of the KL term; the factor: "
           "starting point",
    check=check,
    trips=lambda: toy_loop(60, change=lambda number, row: {"loss": 2.0 - 1.5**number}),
    passes=lambda: toy_loop(60, change=lambda number, row: {"loss": 2.0 - 0.1 * number}),
    wrong_when="the loss is a density of data that are known without error, which has no bound either",
    threshold=f"{BELOW:g} times the first loss, at least 1, below zero, and {BELOW / 10:g} times at each of the last "
              f"{LAST} of {NUM} steps or more: starting point",
    explains=("RUN606", "RUN806"),
)
