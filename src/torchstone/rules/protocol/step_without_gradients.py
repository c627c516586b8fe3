"""RUN302: the optimizer steps, and none of its parameters has a gradient."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, first_streak, place_of, steps_by_optimizer, toy_loop

STREAK = 3


def is_sick(row: Row) -> bool:
    """Whether a backward pass came and left this optimizer without any gradient."""
    has_passed = row.get("backwards", 0) > row.get("leaf_backwards", 0)
    return has_passed and not row.get("has_closure") and row.get("num_trained", 0) > 0 and row.get("num_grads") == 0


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer that stepped so three times in a row."""
    for index, own in steps_by_optimizer(rows):
        sick = first_streak(own, is_sick, STREAK)
        if sick is not None:
            what = (f"after a backward pass none of the {sick['num_trained']} parameters of optimizer {index} has a "
                    f"gradient, {STREAK} steps in a row: it moves nothing")
            yield found(RULE, what, where=at(sick, place_of(rows, "optimizer", optimizer=index)),
                        evidence={"optimizer": index, "num_parameters": sick["num_trained"], "streak": STREAK})


RULE = Rule(
    code="RUN302",
    name="step_without_gradients",
    severity="error",
    summary="the optimizer steps without a gradient",
    why="Nothing is learnt: the gradients were cleared before the step, or the optimizer holds other tensors than the "
        "model.",
    fix="Call zero_grad before backward, not between backward and step; build the optimizer after the model has its "
        "final parameters (after .to(), wrapping, a new head).",
    source="accelerate#2665; pytorch#149205; Jiang et al. 2025, TrainCheck (OSDI)",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {"num_grads": 0, "accumulated": None}),
    passes=toy_loop,
    wrong_when="not known to be wrong: steps with a closure are left out",
    threshold=f"{STREAK} steps in a row",
    explains=("RUN306", "RUN308", "RUN301"),
)
