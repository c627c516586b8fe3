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
    seen = sizes(rows)
    if len(seen) < SAMPLES:
        return
    size = len(seen) // PARTS
    ends = [seen[0], *(seen[(part + 1) * size - 1] for part in range(PARTS))]
    rates = [(later - size) / max(1, end - start) for (start, size), (end, later) in pairwise(ends)]
    (first, begun), (last, ended) = ends[0], ends[-1]
    grown = ended - begun
    is_steady = min(rates) > 0.5 * max(rates) > 0
    if is_steady and grown > max(MIB, SHARE * begun):
        per_step = grown / (last - first)
        what = (f"the process has grown by {grown:,.0f} MiB from step {first} to {last}, steadily by "
                f"{per_step:.3g} MiB a step")
        yield found(RULE, what, where=at(of(rows, "step")[-1]), evidence={"grown_mib": grown, "mib_per_step": per_step})


def sizes(rows: Rows) -> list[tuple[int, float]]:
    """Steps and sizes of the process in MiB, of steps that were seen and of the time asleep, after the first 50."""
    found = [(row["step"], row["memory_mib"]) for row in of(rows, "step") if is_number(row.get("memory_mib"))]
    for row in of(rows, "sizes"):
        found += zip(row["steps"], row["memory_mib"], strict=True)
    return sorted(one for one in found if one[0] > SETTLED)


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
