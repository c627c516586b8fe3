"""RUN511: an evaluation set that is different in each pass."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_pass, training_loaders

FEWEST = 4


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per evaluation loader in fixed order, none of whose first inputs came again in its second pass."""
    trained = training_loaders(rows)
    for row in of(rows, "redealt"):
        if row["loader"] not in trained and row["num"] >= FEWEST and row["same"] == 0:
            what = f"none of the first {row['num']} inputs of this evaluation were the same in its second pass"
            yield found(RULE, what, where=at(row), evidence={"num": row["num"], "same": row["same"]})


def _redealt(same: int) -> list[dict[str, object]]:
    row = {"event": "redealt", "step": 28, "loader": 1, "place": "train.py:30", "same": same, "num": 40}
    return toy_loop(more=[toy_pass(loader=0, backwards=14), row])



RULE = Rule(
    code="RUN511",
    name="random_evaluation_data",
    severity="warning",
    summary="the evaluation set is augmented at random",
    why="Scores of two epochs are of two sets: they go up and down by chance, and are lower than they need to be.",
    fix="Give evaluation a dataset of its own with the fixed part of the transforms.",
    source="efficient_densenet#51; Medical-Transformer#22",
    check=check,
    trips=lambda: _redealt(0),
    passes=lambda: _redealt(40),
    wrong_when="noise is a part of the task, as in denoising: seed it by the example's number",
    threshold=f"not one of {FEWEST} or more",
    confidence="likely",
)
