"""RUN322: validation in train mode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_pass, training_loaders

STRETCHES = 2


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per loader with a whole pass without training during which the model was in train mode.

    Loaders that are also trained from are left out: a pass in train mode may renew BatchNorm's statistics there.
    Where no loss was computed two passes are asked for, with training between them; without a loader, two stretches.
    """
    sick: dict[int, Row] = {}
    silent: dict[int, Row] = {}
    trained = training_loaders(rows)
    for row in of(rows, "pass"):
        if not is_sick(row) or row["loader"] in trained:
            continue
        before = silent.setdefault(row["loader"], row)
        if row["losses"] or row["first_step"] > before["first_step"]:
            sick.setdefault(row["loader"], row)
    if not sick:
        yield from without_loader(rows)
    for row in sick.values():
        what = (f"a pass over {row['examples']} examples without training ran the model in train mode "
                f"({row['forwards_in_training']} of {row['forwards']} forward passes)")
        yield found(RULE, what, where=at(row), evidence={"forwards": row["forwards"], "examples": row["examples"]})


def without_loader(rows: Rows) -> Iterator[Finding]:
    """One finding where losses were computed in train mode and without gradients, in two stretches between steps.

    A formula of the script's own is no call of a loss: there the names in its line must say that it evaluates.
    """
    whole = [row for row in of(rows, "stretch") if row["in_training"] == row["forwards"]]
    seen = [row for row in whole if row["losses"]] or [row for row in whole if row.get("named")]
    places = Counter((row["root"], row.get("place")) for row in seen)
    for row in seen:
        if places[row["root"], row.get("place")] >= STRETCHES:
            said = "losses were computed" if row["losses"] else f"the model ran for an evaluation ('{row['named']}')"
            what = f"{said} without gradients and in train mode, in {len(seen)} stretches between steps"
            yield found(RULE, what, where=at(row), evidence={"stretches": len(seen), "forwards": row["forwards"]})
            return


def is_sick(row: Row) -> bool:
    """Whether the model ran in train mode, where that differs, over a whole pass without learning."""
    is_validation = row["is_whole"] and not row["backwards"] and row["first_step"] > 0
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
    threshold="all forward passes of one whole pass in which a loss was computed, of two passes without one; without a "
              f"loader {STRETCHES} stretches",
)
