"""RUN340: weights that are initialised anew after they were loaded or trained."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop

SHARE, STEPS = 0.5, 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where half of what was loaded, or of what an optimizer goes on with, was initialised again."""
    for row in of(rows, "weights"):
        if row["weights"] and row["reset"] >= SHARE * row["weights"]:
            what = f"{row['reset']:,} of {row['weights']:,} weights that were loaded were initialised again afterwards"
            where = at(row, row.get("reset_place"))
            yield found(RULE, what, where=where, evidence={"reset": row["reset"], "loaded": row["weights"]})
            return
    for row in of(rows, "reset"):
        goes_on = any(step["optimizer"] == row["optimizer"] and step["own_step"] >= row["own_step"] + STEPS
                      for step in of(rows, "step"))  # fmt: skip
        if row["weights"] >= SHARE * row["of"] and goes_on:
            what = (f"after {row['own_step']} steps {row['weights']:,} of {row['of']:,} weights were made anew, "
                    "and the same optimizer goes on")
            yield found(RULE, what, where=at(row), evidence={"reset": row["weights"], "own_step": row["own_step"]})
            return


def _reset(weights: int) -> list[dict[str, object]]:
    row = {"event": "reset", "step": 10, "optimizer": 0, "own_step": 10, "num": 4, "weights": weights, "of": 1000,
           "place": "train.py:33"}  # fmt: skip
    return toy_loop(more=[row])



RULE = Rule(
    code="RUN340",
    name="weights_reset",
    severity="error",
    summary="weights are thrown away after they were loaded or trained",
    why="What was learnt is gone, and the optimizer's moments belong to weights that are no more.",
    fix="Initialise first, then load; call the initialisation once, before training.",
    source="transformers#17877, #46620; picotron#32; Jiang et al. 2025, TrainCheck (OSDI)",
    check=check,
    trips=lambda: _reset(1000),
    passes=lambda: _reset(100),
    wrong_when="folds or restarts that reuse one optimizer on purpose",
    threshold=f"{SHARE:.0%} of the weights, and {STEPS} more steps of the same optimizer",
)
