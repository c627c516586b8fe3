"""RUN422: right answers that the script counts otherwise than they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_pass, training_loaders

PASSES, SHARE, FEWEST = 2, 0.05, 4


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per evaluation loader of which two passes ended with a count that is not the number right."""
    trained = training_loaders(rows)
    passes: dict[int, list[Row]] = defaultdict(list)
    for row in of(rows, "pass"):
        if row["loader"] not in trained and row.get("own_right") is not None and row["first_step"] > 0:
            passes[row["loader"]].append(row)
    yield from _counted_later(rows, trained)
    for group in passes.values():
        sick = [row for row in group if is_sick(row)]
        if len(sick) < max(PASSES, len(group) - 1):
            continue
        row = sick[-1]
        name, value = next(iter(row["counted"].items()))
        more = "more than there are examples" if value > row["own_num"] else "not the number right"
        what = (f"{name} is {value:g} after {row['own_num']} examples, of which {row['own_right']} had the largest "
                f"logit at their class: {more}")
        yield found(RULE, what, where=at(row), evidence={
            "counted": value, "right": row["own_right"], "examples": row["own_num"]})  # fmt: skip


def _counted_later(rows: Rows, trained: set[int]) -> Iterator[Finding]:
    """Counts that stand in a variable only when the next pass begins: told where they are beyond all examples."""
    passes: dict[int, list[Row]] = defaultdict(list)
    for row in of(rows, "pass"):
        if row.get("counted_later") and row["loader"] not in trained and row.get("own_right") is None:
            passes[row["loader"]].append(row)
    for group in passes.values():
        sick = [row for row in group if is_beyond(row["counted_later"])]
        if len(sick) < max(PASSES, len(group) - 1):
            continue
        seen = sick[-1]["counted_later"]
        name, value = next(iter(seen["counted"].items()))
        what = (f"{name} is {value:g} after {seen['num']} examples, of which {seen['right']} had the largest output at "
                f"their class: more than there are examples")
        yield found(RULE, what, where=at(sick[-1]), evidence={
            "counted": value, "right": seen["right"], "examples": seen["num"]})  # fmt: skip


def is_beyond(seen: Row) -> bool:
    """Whether every count is a whole number above twice the examples, no percentage, and no sum over several passes."""
    num, right, before = seen["num"], seen["right"], seen["before"]
    far = max(FEWEST, SHARE * num)
    return bool(seen["counted"]) and all(
        value == int(value) and value > max(2 * num, 100) and abs(value - before.get(name, 0.0) - right) > far
        for name, value in seen["counted"].items()
    )


def is_sick(row: Row) -> bool:
    """Whether every count of the script is a whole number, above the count of batches, and far from the right one."""
    counts = list((row.get("counted") or {}).values())
    far = max(FEWEST, SHARE * row["own_num"])
    return bool(counts) and all(
        value == int(value) and value > row["batches"] and abs(value - row["own_right"]) > far for value in counts
    )


def _passes(correct: float) -> list[dict[str, object]]:
    return [toy_pass(number=n, first_step=14 * n, own_num=96, own_right=81, counted={"correct": correct})
            for n in (1, 2)]  # fmt: skip


RULE = Rule(
    code="RUN422",
    name="accuracy_miscounted",
    severity="warning",
    summary="the number of right answers is counted wrongly",
    why="The accuracy is of something else: an argmax over the wrong axis, (N, 1) compared with (N,), or targets of "
        "another batch.",
    fix="correct += (logits.argmax(dim=1) == target).sum().item(), both of shape (N,).",
    source="own measurement; pytorch/tutorials: the usual count of the quickstart is the one compared with",
    check=check,
    trips=lambda: toy_loop(more=_passes(1100.0)),
    passes=lambda: toy_loop(more=_passes(81.0)),
    wrong_when="something else is counted under that name, such as the right one among the first five",
    threshold=f"{FEWEST} examples and {SHARE:.0%} of them, in {PASSES} passes and in all but one",
    confidence="likely",
)
