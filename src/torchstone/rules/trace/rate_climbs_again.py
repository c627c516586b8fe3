"""RUN205: a learning rate that rises after it has fallen."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import is_number
from torchstone.rules.trace._steps import Trace, steps, toy_run

FALLEN, RISEN, NUM = 0.5, 0.1, 10


def check(trace: Trace) -> Iterator[Finding]:
    """One finding where a run ends on a rate that creeps upwards from a low that it had reached before."""
    rows = [row for row in steps(trace) if is_number(row.get("lr"))]
    rates = [float(row["lr"]) for row in rows]
    if len(rates) < 2 * NUM:
        return
    top = rates.index(max(rates))
    low = min(range(top, len(rates)), key=rates.__getitem__)
    climb = rates[low:]
    rises = [after - before for before, after in pairwise(climb) if after != before]
    is_climb = len(rises) >= NUM and min(rises) > 0
    is_large = climb[-1] - climb[0] >= RISEN * rates[top] and climb[0] <= FALLEN * rates[top]
    # A restart jumps up and falls; what creeps up step by step has run past the end of a cosine.
    if is_climb and is_large and max(rises) < (climb[-1] - climb[0]) / 2:
        yield found(
            RULE,
            f"the learning rate fell to {climb[0]:.3g} at step {rows[low]['step']} "
            f"and has climbed to {climb[-1]:.3g} since",
            where=Where(step=rows[low]["step"]),
            evidence={"highest": rates[top], "lowest": climb[0], "last": climb[-1], "steps": len(climb) - 1},
        )


def _past_the_end(step: int, row: dict[str, object]) -> dict[str, object]:
    from math import cos, pi

    return {"lr": 1e-3 * (1 + cos(pi * step / 120)) / 2}


RULE = Rule(
    code="RUN205",
    name="rate_climbs_again",
    severity="warning",
    summary="the learning rate rises again at the end",
    why="The run ends on large steps, which undo what the small ones had settled.",
    fix="Give the schedule the true number of optimizer steps (T_max of a cosine: steps, not epochs).",
    source="imagen-pytorch#71, SimCLR#8, NeMo#14186: CosineAnnealingLR stepped past T_max",
    check=check,
    trips=lambda: toy_run(change=_past_the_end),
    passes=toy_run,
    wrong_when="the schedule is cyclic by intent and the run ends inside a cycle",
    threshold="fallen below half of the highest rate, then up by a tenth of it in 10 steps or more (our choice)",
    needs=("lr",),
)
