"""RUN203: the loop waits for data."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import is_number
from torchstone.rules.trace._steps import Trace, steps, toy_run

SHARE, WINDOW, SECONDS = 0.3, 100, 10.0


def check(trace: Trace) -> Iterator[Finding]:
    """One finding where the last `WINDOW` steps wait more than `SHARE` of their time, and the run has felt it."""
    rows = [row for row in steps(trace) if is_number(row.get("wait_ms")) and is_number(row.get("step_ms"))]
    last = rows[-WINDOW:]
    if len(last) < WINDOW:
        return
    waited, worked = (sum(row[field] for row in last) for field in ("wait_ms", "step_ms"))
    total = sum(row["wait_ms"] for row in rows) / 1000
    share = waited / (waited + worked) if waited + worked else 0.0
    if share > SHARE and total > SECONDS:
        yield found(
            RULE,
            f"the last {WINDOW} steps spent {share:.0%} of their time waiting for data; {total:,.0f} s so far",
            where=Where(step=last[-1]["step"]),
            evidence={"share": share, "threshold": SHARE, "waited_s": total, "steps": WINDOW},
        )


RULE = Rule(
    code="RUN203",
    name="loader_starvation",
    severity="warning",
    summary="the loop waits for its data",
    why="The device idles while examples are read and decoded; the run takes longer than it must.",
    fix="Raise train.workers, or make the cache of decoded pictures larger (image.cache_gib).",
    source="runmedic 0.1.1 reports a data wait of 20 to 30 % of the step; 30 % is the quiet end",
    check=check,
    trips=lambda: toy_run(change=lambda step, row: {"wait_ms": 80.0}),
    passes=toy_run,
    wrong_when="another program takes the processor or the disk for a while",
    threshold="30 % of the time of the last 100 steps, and 10 s in all (below that nobody minds; our choice)",
    needs=("wait_ms", "step_ms"),
)
