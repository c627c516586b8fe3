"""REV101: train mode while it learns, eval mode while it is judged."""

from __future__ import annotations

from torchstone.core.review import Answer, Reviewed
from torchstone.core.rule import Rule
from torchstone.rules._watched import toy_loop, toy_pass
from torchstone.rules.review._ask import (
    A_STEP,
    by_the_loop,
    evaluations,
    left_out,
    not_seen,
    passed,
    refused,
    said_no,
    seen_row,
    steps,
    unsure,
)
from torchstone.rules.review._toy import watched


def modes_of_the_model(run: Reviewed) -> Answer:
    """Whether the model was in train mode at its steps and in eval mode in validation."""
    if run.kind == "run":
        return by_the_loop(run, "the loop sets train mode before it trains and scores in eval mode", "scoring.py",
                           "model.eval()")  # fmt: skip
    made = steps(run)
    if not made:
        return not_seen(run, A_STEP)
    if all(row.get("has_modes") is False for row in made):
        return left_out("no layer of the model behaves differently in the two modes",
                        seen_row(made[0], f"has_modes is false at {len(made):,} steps"))
    return _watched(run)


def _watched(run: Reviewed) -> Answer:
    made, judged = steps(run), evaluations(run)
    learning = [row for row in made if row.get("training") is True]
    if made[-1].get("training") is False and learning:
        return refused("the model learns in eval mode at the end", seen_row(made[-1], "training is false"))
    for row in judged:
        if row.get("modes_matter") and row["is_whole"] and row["forwards_in_training"] == row["forwards"]:
            return refused(f"a pass of validation ran {row['forwards']} forward passes in train mode",
                           seen_row(row, f"forwards_in_training {row['forwards_in_training']}"))
    if not judged:
        return not_seen(run, "validation over a DataLoader")
    mixed = [row for row in judged if row.get("modes_matter") and row["forwards_in_training"]]
    if mixed or not learning:
        return unsure("some passes were in one mode and some in the other",
                      *(seen_row(row, f"{row['forwards_in_training']} of {row['forwards']} in train mode")
                        for row in mixed[:3]))
    return passed(f"{len(judged):,} passes of validation ran in eval mode, {len(learning):,} of {len(made):,} steps "
                  "that were seen in train mode", seen_row(judged[-1], "forwards_in_training 0"))


RULE: Rule = Rule(
    code="REV101",
    name="modes_of_the_model",
    severity="error",
    summary="the model was not in train mode while it learnt, or not in eval mode while it was judged",
    why="Dropout and BatchNorm behave differently in the two modes: scores and statistics are then of another model.",
    fix="Call model.train() before an epoch of training and model.eval() before validation.",
    source="torch 2.14 documentation, torch.nn.Module.train, torch.nn.Module.eval",
    check=lambda run: said_no(RULE, modes_of_the_model(run)),
    trips=lambda: watched(toy_loop(more=[toy_pass(forwards_in_training=3)])),
    passes=lambda: watched(toy_loop(more=[toy_pass()])),
)
