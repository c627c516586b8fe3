"""RUN529: a term of the loss that has no gradient."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import is_number
from torchstone.rules._watched import Rows, at, place_of, steps_by_optimizer, toy_loop

NUM, SHARE, LEAST = 10, 0.9, 1e-3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer whose losses are a mean plus a number of which no graph is kept, and which varies."""
    for index, own in steps_by_optimizer(rows):
        losses = [row for row in own if is_number(row.get("loss"))]
        loose = [row for row in losses if is_number(row.get("loose"))]
        if len(loose) < max(NUM, SHARE * len(losses)):
            continue
        values = [float(row["loose"]) for row in loose]
        if max(values) - min(values) <= LEAST * max(abs(row["loss"]) for row in loose):
            continue
        what = (f"of the loss, {loose[-1]['loss']:.4g}, a term of {values[-1]:.4g} has no gradient; it was between "
                f"{min(values):.4g} and {max(values):.4g}, and nothing is learnt from it")
        yield found(RULE, what, where=at(loose[-1], place_of(rows, "loss", has_grad=True)),
                    evidence={"optimizer": index, "low": min(values), "high": max(values), "steps": len(loose)})


RULE = Rule(
    code="RUN529",
    name="part_without_gradient",
    severity="error",
    summary="a term is added to the loss that steers nothing",
    why="argmax, round, a comparison, .item(), .detach() and numpy keep no graph: the term teaches nothing.",
    fix="Compute the term from probabilities (a Dice of softmax, not of argmax), and call .item() for logging alone.",
    source="torch 2.14 documentation, Autograd mechanics; Milletari et al. 2016, V-Net: Dice of soft predictions",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {"loose": 0.1 * (number % 7)}),
    passes=lambda: toy_loop(change=lambda number, row: {"loose": 0.0}),
    wrong_when="the term is there for the log alone",
    threshold=f"{NUM} steps and {SHARE:.0%} of them, a spread of {LEAST:g} of the loss",
    explains=("RUN306",),
)
