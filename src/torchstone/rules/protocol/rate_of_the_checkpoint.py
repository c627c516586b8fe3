"""RUN347: a loaded optimizer state that replaces the rate that was asked for."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop

STEPS = 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer whose loaded state changed its rate before its first step, where that rate is used."""
    if of(rows, "schedule_loaded"):
        return
    for row in of(rows, "optimizer_loaded"):
        before, after = row["before"], row["after"]
        is_same = all(abs(old - new) <= 1e-6 * abs(old) for old, new in zip(before, after, strict=False))
        own = [step for step in of(rows, "step") if step["optimizer"] == row["optimizer"]][:STEPS]
        if row["own_step"] or is_same or len(own) < STEPS or own[0].get("lr") != after[0]:
            continue
        what = f"the optimizer was made with a rate of {before[0]:g}; its loaded state set it to {after[0]:g}"
        yield found(RULE, what, where=at(row), evidence={"asked": before, "loaded": after})



def _loop(rate: float) -> list[dict[str, object]]:
    row = {"event": "optimizer_loaded", "step": 0, "optimizer": 0, "own_step": 0, "before": [1e-3], "after": [rate],
           "place": "train.py:12"}  # fmt: skip
    return [row, *toy_loop(change=lambda number, step: {"lr": rate})]


RULE = Rule(
    code="RUN347",
    name="rate_of_the_checkpoint",
    severity="warning",
    summary="optimizer.load_state_dict brings back the old rate",
    why="A state holds the rates of its groups too: what was asked for here is not what is used.",
    fix="After load_state_dict set the rate again: for group in optimizer.param_groups: group['lr'] = lr. To go on as "
        "before, load the scheduler's state as well.",
    source="torch 2.14 documentation, Optimizer.load_state_dict",
    check=check,
    trips=lambda: _loop(0.1),
    passes=lambda: _loop(1e-3),
    wrong_when="a run goes on at the rate that it had reached, and has no scheduler",
    threshold=f"the first {STEPS} steps",
    confidence="likely",
)
