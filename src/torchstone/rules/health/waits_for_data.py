"""RUN608: the loop waits for its data."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop

SHARE, WINDOW, SECONDS = 0.3, 100, 20.0


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the last hundred steps spent three tenths of their time in the loader, 20 s or more in all."""
    steps = [row for row in of(rows, "step") if row.get("wait_ms") is not None]
    last = steps[-WINDOW:]
    waited, worked = (sum(row[key] for row in last) for key in ("wait_ms", "step_ms"))
    if len(last) == WINDOW and waited > SHARE * (waited + worked):
        total = sum(row["wait_ms"] for row in steps) / 1000
        if total > SECONDS:
            share = waited / (waited + worked)
            yield found(RULE, f"the last {WINDOW} steps spent {share:.0%} of their time waiting for the loader",
                        where=at(last[-1]), evidence={"share": share, "threshold": SHARE, "waited_s": total})


RULE = Rule(
    code="RUN608",
    name="waits_for_data",
    severity="advice",
    summary="the device idles while batches are made",
    why="The run takes longer than the model needs; a faster device would not help.",
    fix="More workers in the DataLoader, persistent_workers=True, smaller or decoded files, cheaper augmentation.",
    source="runmedic 0.1.1 reports a wait of 20 to 30 % of the step; 30 % is the quiet end",
    check=check,
    trips=lambda: toy_loop(400, change=lambda number, row: {"wait_ms": 80.0, "step_ms": 20.0}),
    passes=lambda: toy_loop(400, change=lambda number, row: {"wait_ms": 1.0, "step_ms": 20.0}),
    wrong_when="another program takes the processor or the disk for a while",
    threshold=f"{SHARE:.0%} of {WINDOW} steps, and {SECONDS:g} s in all",
    confidence="likely",
)
