"""RUN525: accumulated losses that are divided by their number twice."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._numbers import is_number
from torchstone.rules._watched import Row, Rows, at, first_streak, place_of, steps_by_optimizer, toy_loop

STREAK, SLACK = 4, 2e-3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer whose steps of n passes begin at a mean divided by n times n, four in a row."""
    for index, own in steps_by_optimizer(rows):
        sick = first_streak([row for row in own if is_number(row.get("loss"))], is_sick, STREAK)
        if sick is not None:
            num = sick["accumulated"]
            what = (f"each step adds up {num} losses, and each of them is its mean divided by {num * num}: by {num} "
                    "here, and once more by the library that calls backward")
            yield found(RULE, what, where=at(sick, place_of(rows, "loss", has_grad=True)),
                        evidence={"optimizer": index, "passes": num, "mean": sick["mean_loss"], "loss": sick["loss"]})


def is_sick(row: Row) -> bool:
    """Whether the loss is the mean over the square of the number of passes."""
    num = int(row.get("accumulated") or 0)
    if num < 2 or not is_number(row.get("mean_loss")) or row.get("is_scaled"):
        return False
    mean, loss = float(row["mean_loss"]), float(row["loss"])
    return mean != 0 and abs(loss * num * num / mean - 1) <= SLACK


def _loop(factor: float) -> list[dict[str, object]]:
    return toy_loop(change=lambda number, row: {"accumulated": 4, "mean_loss": row["loss"] * factor})


RULE = Rule(
    code="RUN525",
    name="divided_twice",
    severity="warning",
    summary="the loss is divided by the accumulation twice",
    why="Accelerate's backward and Lightning's accumulate_grad_batches divide by themselves: the gradient is too small "
        "by the number of micro-batches, and so is SGD's rate.",
    fix="Take your own division out: loss / num_micro_batches is for a loop that calls loss.backward() itself.",
    source="accelerate 1.15 documentation, Gradient accumulation: accelerator.backward divides the loss",
    check=check,
    trips=lambda: _loop(16.0),
    passes=lambda: _loop(4.0),
    wrong_when="the loss has a weight that happens to be one over the number of passes",
    threshold=f"within {SLACK:g} of the mean over n², {STREAK} steps in a row",
)
