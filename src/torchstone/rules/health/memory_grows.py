"""RUN610: the process takes more memory with every step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import is_number
from torchstone.rules._watched import Rows, at, of, toy_loop

SETTLED, SAMPLES, PARTS, MIB, SHARE = 50, 8, 4, 256.0, 0.2


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where memory rose in each quarter of the steps after the first 50, as much in the last as before."""
    seen = [row for row in of(rows, "step") if is_number(row.get("memory_mib")) and row["step"] > SETTLED]
    if len(seen) < SAMPLES:
        return
    size = len(seen) // PARTS
    ends = [seen[0], *(seen[(part + 1) * size - 1] for part in range(PARTS))]
    rates = [(b["memory_mib"] - a["memory_mib"]) / max(1, b["step"] - a["step"])
             for a, b in pairwise(ends)]  # fmt: skip
    first, last = ends[0], ends[-1]
    grown = last["memory_mib"] - first["memory_mib"]
    is_steady = min(rates) > 0.5 * max(rates) > 0
    if is_steady and grown > max(MIB, SHARE * first["memory_mib"]):
        per_step = grown / (last["step"] - first["step"])
        what = (f"the process has grown by {grown:,.0f} MiB from step {first['step']} to {last['step']}, steadily by "
                f"{per_step:.3g} MiB a step")
        yield found(RULE, what, where=at(last), evidence={"grown_mib": grown, "mib_per_step": per_step})


def _loop(per_step: float) -> list[dict[str, object]]:
    return toy_loop(400, change=lambda number, row: {
        "memory_mib": 900.0 + per_step * number if number % 10 == 1 else None})  # fmt: skip


RULE = Rule(
    code="RUN610",
    name="memory_grows",
    severity="advice",
    summary="memory of the host grows steadily from step to step",
    why="Something is kept of every step; a long run ends when memory does.",
    fix="Look for lists and dictionaries that outputs, batches or pictures are put into, and for caches in datasets.",
    source="Amazon SageMaker Debugger, profiler rules: memory; the slope test: starting point",
    check=check,
    trips=lambda: _loop(2.0),
    passes=lambda: _loop(0.1),
    wrong_when="a buffer or a cache is being filled up to a size that fits",
    threshold=f"{MIB:g} MiB and {SHARE:.0%}, in {PARTS} parts of the steps, each at half of the fastest or more",
    confidence="likely",
)
