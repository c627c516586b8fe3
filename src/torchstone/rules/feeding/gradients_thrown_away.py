"""RUN524: gradients that are cleared between the micro-batches of one step."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, first_streak, place_of, steps_by_optimizer, toy_loop

STREAK = 4


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer that at each of four steps in a row used one of several backward passes."""
    for index, own in steps_by_optimizer(rows):
        sick = first_streak(own, is_sick, STREAK)
        if sick is not None:
            what = (f"each step is made after {sick['accumulated']} backward passes, and the gradients of "
                    f"{sick['num_dropped']} of them are cleared before it: it uses the last one alone")
            yield found(RULE, what, where=at(sick, place_of(rows, "optimizer", optimizer=index)),
                        evidence={"optimizer": index, "passes": sick["accumulated"], "dropped": sick["num_dropped"]})


def is_sick(row: Row) -> bool:
    """Whether all passes before a step came from one line, and what all but the last gave was cleared."""
    num = row.get("accumulated") or 0
    is_one_line = row.get("backward_lines") == 1 and row.get("backwards") == num
    return num >= 2 and row.get("num_dropped") == num - 1 and is_one_line and not row.get("has_closure")


RULE = Rule(
    code="RUN524",
    name="gradients_thrown_away",
    severity="error",
    summary="zero_grad stands inside of the accumulation",
    why="Only the last micro-batch of each step teaches anything, by a share of its gradient; the others are paid for "
        "and thrown away.",
    fix="Call optimizer.zero_grad() once per step: right after optimizer.step(), or before the first micro-batch.",
    source="torch 2.14 documentation, Automatic Mixed Precision examples: gradient accumulation",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {
        "accumulated": 4, "backwards": 4, "num_dropped": 3, "backward_lines": 1}),
    passes=lambda: toy_loop(change=lambda number, row: {
        "accumulated": 4, "backwards": 4, "num_dropped": 0, "backward_lines": 1}),
    wrong_when="the same line makes gradients that are only looked at, such as those of an attack on the inputs",
    threshold=f"{STREAK} steps in a row; by one small parameter's gradient, its identity and its zeros",
)
