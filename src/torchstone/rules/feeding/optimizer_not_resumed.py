"""RUN522: a run that goes on with its weights and without its optimizer's state."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, steps_by_optimizer, toy_loop

STEPS = 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per file that holds an optimizer, whose weights fit whole, and whose optimizer nobody took.

    Only where the script writes such files itself, so that they are its own checkpoints, and an optimizer begins.
    """
    saves = [row for row in of(rows, "save") if "optimizer" in row["holds"] and "weights" in row["holds"]]
    if not saves or of(rows, "optimizer_loaded"):
        return
    listed = list(rows)
    for number, row in enumerate(listed):
        if row.get("event") == "load" and {"optimizer", "weights"} <= set(row["holds"]):
            weights = next((later for later in listed[number:] if later.get("event") == "weights"), None)
            begun = [own[0] for _, own in steps_by_optimizer(rows) if is_fresh(own, row)]
            if weights is not None and is_whole(weights) and begun:
                what = ("the checkpoint holds the optimizer's state too, its weights were loaded whole, and a new "
                        f"optimizer began at step 1; this script writes such checkpoints itself ({saves[0]['place']})")
                yield found(RULE, what, where=at(weights), evidence={"loaded": list(row["holds"])})
                return


def is_whole(weights: Row) -> bool:
    """Whether all keys of a state found their place: the same model, not a part of it for another task."""
    return bool(weights["num_keys"]) and not weights["num_missing"] and not weights["num_unexpected"]


def is_fresh(own: list[Row], load: Row) -> bool:
    """Whether an optimizer took its first steps after a load."""
    return len(own) >= STEPS and own[0].get("own_step") == 1 and own[0]["step"] > load["step"]


def _resumed(*, is_taken: bool) -> list[dict[str, object]]:
    holds = ["optimizer", "weights"]
    weights = {"event": "weights", "step": 0, "place": "train.py:9", "num_keys": 20, "num_missing": 0,
               "num_unexpected": 0}  # fmt: skip
    rows = [{"event": "load", "step": 0, "place": "train.py:8", "holds": holds}, weights]
    rows += [{"event": "optimizer_loaded", "step": 0, "optimizer": 0, "own_step": 0}] if is_taken else []
    return [*rows, *toy_loop(more=[{"event": "save", "step": 40, "place": "train.py:50", "holds": holds}])]


RULE = Rule(
    code="RUN522",
    name="optimizer_not_resumed",
    severity="warning",
    summary="a run is taken up again without its optimizer's state",
    why="The moments start at zero and the steps are those of a beginning: the loss jumps, and the run is another one.",
    fix="optimizer.load_state_dict(checkpoint['optimizer']), and the scheduler's state and the scaler's likewise.",
    source="torch 2.14 documentation, Saving and Loading Models: a general checkpoint",
    check=check,
    trips=lambda: _resumed(is_taken=False),
    passes=lambda: _resumed(is_taken=True),
    wrong_when="a second stage begins from the weights of the first on purpose",
    threshold=f"an optimizer's own first {STEPS} steps after the load",
    confidence="likely",
)
