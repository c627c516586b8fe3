"""RUN313: gradients are clipped when there is nothing to clip."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_loop

NUM = 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer for which clipping came after the step, or before the backward pass, three times."""
    idle: dict[int, list[Row]] = defaultdict(list)
    for row in of(rows, "clip"):
        idle[row["optimizer"]].append(row)
    for index, calls in idle.items():
        if len(calls) >= NUM:
            when = "after optimizer.step()" if calls[-1].get("has_grads") else "before loss.backward()"
            what = f"gradients are clipped {when}, {len(calls)} times so far: it has no effect on any step"
            yield found(RULE, what, where=at(calls[NUM - 1]), evidence={"optimizer": index, "calls": len(calls)})


def _sick() -> list[dict[str, object]]:
    call = {"event": "clip", "optimizer": 0, "has_grads": True, "place": "train.py:21"}
    return toy_loop(more=[{**call, "step": step} for step in range(1, 6)])


RULE = Rule(
    code="RUN313",
    name="idle_clipping",
    severity="error",
    summary="clipping stands at the wrong place and does nothing",
    why="The steps use gradients that were never clipped; a spike that clipping was to stop goes through.",
    fix="Clip between loss.backward() and optimizer.step(); with a loss scaler after scaler.unscale_(optimizer).",
    source="graphstorm#1366; VGRNN#4; onsets-and-frames#24",
    check=check,
    trips=_sick,
    passes=toy_loop,
    wrong_when="the function is called for the norm that it returns",
    threshold=f"{NUM} calls without a backward pass since the last step",
)
