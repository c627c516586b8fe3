"""RUN305: the optimizer takes the same gradients again."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, first_streak, place_of, steps_by_optimizer, toy_loop

STREAK, FEWEST, SHARE = 3, 6, 0.3


def is_sick(row: Row) -> bool:
    """Whether no backward pass reached the optimizer since its last step, and the old gradients were still there."""
    return bool(row.get("is_stale")) and row.get("accumulated") == 0 and not row.get("has_closure")


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer that stepped so three times in a row, or in a third of its steps."""
    for index, own in steps_by_optimizer(rows):
        stale = [row for row in own if is_sick(row)]
        sick = first_streak(own, is_sick, STREAK)
        if sick is None and len(stale) >= max(FEWEST, SHARE * len(own)):
            sick = stale[FEWEST - 1]
        if sick is not None:
            what = f"optimizer {index} stepped {len(stale)} of {len(own)} times on gradients that it had used before"
            yield found(RULE, what, where=at(sick, place_of(rows, "optimizer", optimizer=index)),
                        evidence={"optimizer": index, "stale": len(stale), "steps": len(own)})


RULE = Rule(
    code="RUN305",
    name="stale_gradients",
    severity="error",
    summary="the optimizer steps without a new backward pass",
    why="The same gradient is applied again and again; weights move, and the loss does not steer them.",
    fix="Call loss.backward() before each optimizer.step(), or step this optimizer less often.",
    source="torch 2.14 documentation, Optimizing model parameters",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {"is_stale": number > 3, "accumulated": int(number <= 3)}),
    passes=toy_loop,
    threshold=f"{STREAK} steps in a row, or {FEWEST} and {SHARE:.0%} of all; by the gradient's identity and version",
)
