"""RUN206: updates far too large or far too small for the weights."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import is_number
from torchstone.rules._pictures import points
from torchstone.rules.trace._steps import Trace, is_skipped, steps, toy_run

LARGE, SMALL, NUM = 0.5, 1e-6, 4


def check(trace: Trace) -> Iterator[Finding]:
    """One finding at the first `NUM` sampled steps in a row whose updates are out of bounds on the same side."""
    rows = [row for row in steps(trace) if is_number(row.get("update_ratio")) and not is_skipped(row)]
    highest = max((float(row["lr"]) for row in rows if is_number(row.get("lr"))), default=0.0)
    for end in range(NUM, len(rows) + 1):
        sampled = rows[end - NUM : end]
        ratios = [float(row["update_ratio"]) for row in sampled]
        is_full_rate = all(row.get("lr", highest) >= highest / 2 for row in sampled)
        if min(ratios) > LARGE or (max(ratios) < SMALL and is_full_rate):
            size, bound = ("large", LARGE) if min(ratios) > LARGE else ("small", SMALL)
            yield found(
                RULE,
                f"updates are too {size}: at {NUM} sampled steps they were {min(ratios):.2g} to {max(ratios):.2g} "
                f"of the weights; the bound is {bound:g}",
                where=Where(step=sampled[0]["step"]),
                evidence={"ratios": ratios, "threshold": bound, "lr": sampled[-1].get("lr"),
                          "series": {"update / weight": points(rows, "update_ratio")}},
                fix=f"{'Lower' if size == 'large' else 'Raise'} optimizer.lr, tenfold for a start.",
            )
            return


RULE = Rule(
    code="RUN206",
    name="update_size",
    severity="warning",
    summary="the updates are out of all proportion to the weights",
    why="Too large, each step throws away what the last one learnt; too small, the weights stand still.",
    fix="Change the learning rate (optimizer.lr), tenfold for a start.",
    source="Karpathy 2022, makemore part 3: about 1e-3 is usual; Amazon SageMaker Debugger bounds it by 10 and 1e-8",
    check=check,
    trips=lambda: toy_run(change=lambda step, row: {"update_ratio": 0.9}),
    passes=toy_run,
    wrong_when="nearly all weights start at zero, so that the first updates are large beside them",
    threshold="above 0.5 or below 1e-6 at 4 sampled steps in a row (small: at half the top rate or more)",
    needs=("update_ratio", "lr"),
)
