"""RUN321: training goes on in eval mode after a validation."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, first_streak, place_of, steps_by_optimizer, toy_loop

STREAK = 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer whose model was in train mode first and then learns in eval mode."""
    for index, own in steps_by_optimizer(rows):
        began = next((row.get("training") for row in own if row.get("training") is not None), None)
        sick = first_streak(own, is_sick, STREAK) if began else None
        if sick is not None:
            what = "the model trained in train mode at first and now trains in eval mode: dropout and BatchNorm are off"
            yield found(RULE, what, where=at(sick, place_of(rows, "loss", has_grad=True)),
                        evidence={"optimizer": index, "first_eval_step": sick["step"] - STREAK + 1})


def is_sick(row: Row) -> bool:
    """Whether a model whose modes differ took a step in eval mode."""
    return row.get("training") is False and bool(row.get("has_modes"))


RULE = Rule(
    code="RUN321",
    name="stuck_in_eval",
    severity="error",
    summary="model.train() is missing after validation",
    why="From the second epoch on nothing is dropped and BatchNorm's statistics stand still: the model overfits.",
    fix="Call model.train() at the start of each epoch.",
    source="pytorch-fcn#57; joeynmt#184; simpletransformers#941",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {"training": number <= 14}),
    passes=toy_loop,
    wrong_when="the last phase is meant to train in eval mode, as a fine-tuning of a quantised model",
    threshold=f"{STREAK} steps in a row after steps in train mode",
    explains=("RUN322",),
)
