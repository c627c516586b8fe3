"""RUN320: losses that are means are added up over an accumulation."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, first_streak, of, place_of, steps_by_optimizer, toy_loop

STREAK = 4
# Names of the nodes that losses averaged over a batch end in.
MEANS = ("NllLoss", "CrossEntropy", "MseLoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BinaryCrossEntropy", "Mean")


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer with several mean losses in each step, one batch and one forward pass for each."""
    if any(row.get("reduction") == "sum" and row.get("has_grad") for row in of(rows, "loss")):
        return
    for index, own in steps_by_optimizer(rows):
        sick = first_streak(own, is_sick, STREAK)
        if sick is not None:
            num = sick["accumulated"]
            what = f"each step adds up {num} losses that are means over a batch, without dividing them by {num}"
            yield found(RULE, what, where=at(sick, place_of(rows, "loss", has_grad=True)),
                        evidence={"optimizer": index, "passes": num, "kinds": list(sick["kinds"])})


def is_sick(row: Row) -> bool:
    """Whether a step had as many batches and forward passes as backward passes, two or more, from the same mean."""
    num, kinds = row.get("accumulated") or 0, row.get("kinds") or []
    same = len(kinds) >= 2 and len(set(kinds)) == 1 and str(kinds[0]).startswith(MEANS)
    # evaluation between two steps adds batches, and forward passes of this or of an averaged model; without a loader
    # one and the same line calls backward each time, unlike that of a GAN or of two tasks
    batches, forwards = row.get("batches") or 0, row.get("forwards") or 0
    one_each = batches >= forwards >= num or (batches == 0 and forwards == num and row.get("backward_lines") == 1)
    fed = one_each and row.get("backwards") == num
    return num >= 2 and same and fed and not row.get("has_closure")


RULE = Rule(
    code="RUN320",
    name="accumulation_not_divided",
    severity="error",
    summary="accumulated losses are not divided by their number",
    why="The gradient, and with it the step of SGD or what clipping sees, grows with the number of micro-batches.",
    fix="Divide the loss by the number of micro-batches before backward; with targets that are padded or ignored, "
        "divide the sum of losses by the number of targets of the whole window.",
    source="transformers#34191, #35203, #37766",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {
        "accumulated": 2, "backwards": 2, "batches": 2, "forwards": 2, "kinds": ["NllLossBackward0"] * 2}),
    passes=lambda: toy_loop(change=lambda number, row: {
        "accumulated": 2, "backwards": 2, "batches": 2, "forwards": 2, "kinds": ["DivBackward0"] * 2}),
    wrong_when="the rate was tuned for the sum on purpose",
    threshold=f"{STREAK} steps in a row",
    confidence="likely",
)
