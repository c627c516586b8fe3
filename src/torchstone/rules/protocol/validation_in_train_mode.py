"""RUN322: validation in train mode."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_pass


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per loader with a whole pass without training during which the model was in train mode."""
    sick: dict[int, Row] = {}
    for row in of(rows, "pass"):
        if is_sick(row):
            sick.setdefault(row["loader"], row)
    for row in sick.values():
        what = (f"a pass over {row['examples']} examples without training ran the model in train mode "
                f"({row['forwards_in_training']} of {row['forwards']} forward passes)")
        yield found(RULE, what, where=at(row), evidence={"forwards": row["forwards"], "examples": row["examples"]})


def is_sick(row: Row) -> bool:
    """Whether losses were computed in train mode, where that differs, over a whole pass without learning."""
    is_validation = row["is_whole"] and not row["backwards"] and row["first_step"] > 0 and row["losses"] > 0
    return bool(is_validation and row["modes_matter"] and row["forwards"]) and (
        row["forwards_in_training"] == row["forwards"]
    )


RULE = Rule(
    code="RUN322",
    name="validation_in_train_mode",
    severity="error",
    summary="model.eval() is missing in validation",
    why="Dropout drops and BatchNorm uses the batch: the score is wrong, depends on the batch size, and BatchNorm's "
        "statistics learn from validation data.",
    fix="Call model.eval() before the validation loop, and model.train() after it.",
    source="MultiBench#26; torch 2.14 documentation, Autograd mechanics: Evaluation Mode",
    check=check,
    trips=lambda: toy_loop(more=[toy_pass(forwards_in_training=3)]),
    passes=lambda: toy_loop(more=[toy_pass()]),
    wrong_when="dropout at prediction is meant: set those modules alone to train mode, after model.eval()",
    threshold="all forward passes of one whole pass in which a loss was computed",
)
