"""RUN329: checkpoints that hold the weights alone."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop

NUM = 2


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where two or more saves during training hold weights and none holds an optimizer's state."""
    saves = [row for row in of(rows, "save") if row["step"] > 0]
    holds = {thing for row in saves for thing in row["holds"]}
    weights = [row for row in saves if "weights" in row["holds"] or "module" in row["holds"]]
    if len(weights) >= NUM and "optimizer" not in holds:
        what = f"{len(weights)} checkpoints hold the weights and none the optimizer's state"
        yield found(RULE, what, where=at(weights[NUM - 1]), evidence={"saves": len(weights)})


def _saves(*holds: str) -> list[dict[str, object]]:
    saves = [
        {"event": "save", "step": n, "path": "last.pt", "place": "train.py:40", "holds": list(holds)} for n in (10, 20)
    ]
    return toy_loop(more=saves)


RULE = Rule(
    code="RUN329",
    name="checkpoint_without_optimizer",
    severity="advice",
    summary="a run that is cut off cannot go on from these checkpoints as it was",
    why="Without the moments of the optimizer and the place in the schedule a resumed run starts with a jolt.",
    fix="Save optimizer.state_dict(), scheduler.state_dict(), the scaler's, and the epoch beside the weights.",
    source="torch 2.14 documentation, Saving and Loading Models; yolov3#902",
    check=check,
    trips=lambda: _saves("weights"),
    passes=lambda: _saves("optimizer", "weights"),
    wrong_when="the files are for prediction alone",
    threshold=f"{NUM} saves during training",
)
