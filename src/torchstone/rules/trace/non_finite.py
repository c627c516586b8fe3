"""RUN201: a loss or gradient that is no number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import is_number
from torchstone.rules.trace._steps import Trace, steps, toy_run

# How many times the first loss the last one must be for the run, not an example, to be at fault.
GROWN = 10.0


def check(trace: Trace) -> Iterator[Finding]:
    """One finding, at the first step whose loss or gradient norm is not finite; overflows of fp16 are RUN202's."""
    for row in trace:
        if row.get("event") == "finding" and row.get("problem") in ("loss", "gradient"):
            yield _told(row, _growth(trace))
            return
    for row in steps(trace):
        if row.get("scale", 1.0) != 1.0 or row.get("skipped") == "no target counts":
            continue
        for field, called in (("loss", "loss"), ("grad_norm", "gradient norm")):
            if field in row and not is_number(row[field]):
                yield found(RULE, f"the {called} of step {row['step']} is not a finite number",
                            where=Where(step=row["step"]), evidence={"step": row["step"], "field": field})
                return


def _growth(trace: Trace) -> tuple[float, float] | None:
    """The first and the last finite loss, where the last is more than `GROWN` times the first: the run blew up."""
    losses = [float(row["loss"]) for row in steps(trace) if is_number(row.get("loss"))]
    return (losses[0], losses[-1]) if len(losses) > 1 and losses[-1] > GROWN * abs(losses[0]) else None


def _told(row: dict[str, Any], growth: tuple[float, float] | None) -> Finding:
    """The finding of a loop that stopped before the update and named the examples."""
    examples = [str(example) for example in row.get("examples", [])]
    is_sure = bool(row.get("is_culprit_known"))
    listed = ", ".join(examples[:3]) + (f" and {row['num'] - 3:,} more" if row.get("num", 0) > 3 else "")
    if growth is not None:
        blamed = f"the loss had grown from {growth[0]:.3g} to {growth[1]:.3g} before: the run blew up"
    elif is_sure:
        blamed = f"it comes from {listed}"
    else:
        blamed = f"its batch was {listed}, none of which is at fault alone"
    return found(
        RULE,
        f"the {row['problem']} of step {row['step']} is not a finite number; {blamed}",
        where=Where(step=row["step"], example=examples[0] if is_sure and growth is None and examples else None),
        evidence={"step": row["step"], "field": row["problem"], "examples": examples, "is_culprit_known": is_sure,
                  "grown": list(growth) if growth else None},
        fix="Lower optimizer.lr, tenfold for a start, or set train.clip_norm." if growth else None,
    )


RULE = Rule(
    code="RUN201",
    name="non_finite",
    severity="error",
    summary="the loss or the gradient is infinite or not a number",
    why="One update with it makes every weight NaN, and nothing learnt before is left.",
    fix="Mend broken values in the named examples; if they are sound, lower optimizer.lr or set train.clip_norm.",
    source="trl#6702: one bad batch, and the log of the run went on looking healthy",
    check=check,
    threshold="yes or no; a loss of 10 times the first one before it puts the blame on the run (our choice)",
    trips=lambda: toy_run(change=lambda step, row: {"loss": None} if step == 50 else {}),
    passes=toy_run,
    needs=("loss", "grad_norm"),
)
