"""RUN204: a loss that ends where it began."""

from __future__ import annotations

import math
from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import fell, is_number, mean_and_error
from torchstone.rules.trace._steps import Trace, is_skipped, steps, toy_run

SHARE, NUM_STEPS, NUM_ERRORS = 0.02, 200, 2.0


def check(trace: Trace) -> Iterator[Finding]:
    """One finding where the last tenth of a run's losses is not below the first, by more than chance and 2 %."""
    rows = [row for row in steps(trace) if not is_skipped(row)]
    if len(rows) < NUM_STEPS or any(not is_number(row.get("loss")) for row in rows):
        return
    losses = [float(row["loss"]) for row in rows]
    tenth = len(losses) // 10
    begin, end = mean_and_error(losses[:tenth]), mean_and_error(losses[-tenth:])
    if fell(begin, end, share=SHARE, errors=NUM_ERRORS):
        return
    (first, first_error), (last, _) = begin, end
    if mean_and_error(losses[tenth:-tenth])[0] < first - max(SHARE * abs(first), NUM_ERRORS * first_error):
        return  # it fell and rose again: another fault than not learning
    yield found(
        RULE,
        f"after {len(rows):,} steps the mean loss is {last:.4g}; over the first {tenth} steps it was {first:.4g}",
        where=Where(step=rows[-1]["step"]),
        evidence={"first": first, "last": last, "fell": first - last, "needed": SHARE * abs(first), "steps": len(rows)},
    )


RULE = Rule(
    code="RUN204",
    name="not_learning",
    severity="warning",
    summary="the training loss has not fallen",
    why="The model has learnt nothing from the data so far; more steps alone rarely help.",
    fix="Try optimizer.lr ten times higher and ten times lower; see whether 20 examples can be learnt by heart.",
    source="Karpathy 2019, A Recipe for Training Neural Networks; the 2 % are runmedic 0.1.1's",
    check=check,
    trips=lambda: toy_run(change=lambda step, row: {"loss": 2.3 + 0.1 * math.sin(7 * step)}),
    passes=toy_run,
    wrong_when="the run goes on from weights that had learnt all there is",
    threshold="2 % of the first tenth's mean and 2 standard errors, from 200 steps",
    needs=("loss",),
    explains=("RUN802", "RUN808", "RUN809"),
)
