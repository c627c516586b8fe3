"""RUN325: losses are kept with their graphs."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, first_streak, of, place_of, toy_loop

ALIVE, STREAK = 5, 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where graphs of five losses or outputs, older than four backward passes, are alive at three steps."""
    steps = of(rows, "step")
    for key, things in (("graphs_alive", "losses"), ("outputs_alive", "outputs")):
        kept = [{**row, "alive": row.get(key) or 0} for row in steps]
        sick = first_streak(kept, lambda row: row["alive"] >= ALIVE, STREAK)
        if sick is not None:
            most = max(row["alive"] for row in kept)
            what = f"the graphs of {most} old {things} are still held after their backward pass"
            yield found(RULE, what, where=at(sick, place_of(rows, "loss", has_grad=True)), evidence={"graphs": most})
            return


RULE = Rule(
    code="RUN325",
    name="graph_kept",
    severity="warning",
    summary="losses or outputs are summed or stored as tensors with their history",
    why="Each kept loss keeps its graph alive: memory grows with every step, until it is short.",
    fix="Keep loss.item() or loss.detach(): total += loss.item() * num.",
    source="SpareNet#12; labelmodels#4; torch 2.14 documentation, FAQ: My model reports cuda runtime error(2)",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {"graphs_alive": max(0, number - 5)}),
    passes=toy_loop,
    wrong_when="the sum is differentiated later on purpose, as over a whole rollout",
    threshold=f"{ALIVE} graphs older than 4 passes, at {STREAK} steps in a row",
)
