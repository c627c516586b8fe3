"""RUN417: sequences whose end is never a target."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_loss

CALLS, SHARE, FEWEST = 3, 0.2, 4


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where sequences of different length end in all sorts of targets, in each training batch read."""
    calls = [row for row in of(rows, "loss") if row["has_grad"] and row["function"] == "cross_entropy"]
    sick = [row for row in calls if is_sick(row.get("last_scored"))]
    if len(sick) >= CALLS and len(sick) == len(calls):
        last = sick[-1]["last_scored"]
        what = (f"{last['rows']} of {last['of']} sequences end before the batch does, and their last targets are "
                f"{last['different']} different tokens: no token for the end is ever asked for")
        yield found(RULE, what, where=at(sick[-1]), evidence=dict(last))



def is_sick(last: dict[str, int] | None) -> bool:
    """Whether the last targets are of many kinds."""
    return last is not None and last["different"] >= max(FEWEST, SHARE * last["rows"])


RULE = Rule(
    code="RUN417",
    name="end_never_scored",
    severity="warning",
    summary="the model never learns to stop",
    why="Where padding and the end are the same token, masking the one masks the other: what is generated runs on.",
    fix="Use a padding token of its own, or mask by length and keep one end token per sequence.",
    source="trl#976; llm-course#33; unsloth#416",
    check=check,
    trips=lambda: toy_loop(more=[toy_loss(last_scored={"rows": 20, "of": 32, "different": 14})] * 3),
    passes=lambda: toy_loop(more=[toy_loss(last_scored={"rows": 20, "of": 32, "different": 1})] * 3),
    wrong_when="sequences have no end, as windows cut out of a long text",
    threshold=f"{SHARE:.0%} as many last targets as sequences, in {CALLS} batches",
    confidence="likely",
)
