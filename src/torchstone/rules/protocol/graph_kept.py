"""RUN325: losses are kept with their graphs."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, first_streak, of, place_of, toy_loop

ALIVE, STREAK = 5, 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where graphs of five losses, each older than four backward passes, are alive at three steps."""
    steps = of(rows, "step")
    sick = first_streak(steps, lambda row: (row.get("graphs_alive") or 0) >= ALIVE, STREAK)
    if sick is not None:
        most = max(row.get("graphs_alive") or 0 for row in steps)
        what = f"the graphs of {most} old losses are still held after their backward pass"
        yield found(RULE, what, where=at(sick, place_of(rows, "loss", has_grad=True)), evidence={"graphs": most})


RULE = Rule(
    code="RUN325",
    name="graph_kept",
    severity="warning",
    summary="losses are summed or stored as tensors with their history",
    why="Each kept loss keeps its graph alive: memory grows with every step, until it is short.",
    fix="Keep loss.item() or loss.detach(): total += loss.item() * num.",
    source="SpareNet#12; labelmodels#4; torch 2.14 documentation, FAQ: My model reports cuda runtime error(2)",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {"graphs_alive": max(0, number - 5)}),
    passes=toy_loop,
    wrong_when="the sum is differentiated later on purpose, as over a whole rollout",
    threshold=f"{ALIVE} graphs older than 4 passes, at {STREAK} steps in a row",
)
