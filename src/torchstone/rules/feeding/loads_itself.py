"""RUN523: load_state_dict of the model's own live tensors."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where a model that has trained is given a state of which every tensor is its own."""
    for row in of(rows, "weights"):
        if row.get("num_own") and row["num_own"] == row["num_keys"] and row["step"] > 0:
            what = (f"all {row['num_keys']} tensors of the state are the model's own, in the same memory: "
                    "load_state_dict changes nothing")
            yield found(RULE, what, where=at(row), evidence={"keys": row["num_keys"]})
            return


def _load(num_own: int) -> list[dict[str, object]]:
    row = {
        "event": "weights", "step": 40, "place": "train.py:60", "num_keys": 20, "num_missing": 0, "num_unexpected": 0,
        "missing": [], "unexpected": [], "num_parameters": 20, "matched": 20, "weights": 900, "reset": 0,
        "num_own": num_own,
    }  # fmt: skip
    return toy_loop(more=[row])


RULE = Rule(
    code="RUN523",
    name="loads_itself",
    severity="error",
    summary="a model is loaded from its own weights",
    why="state_dict() gives the live tensors, no copy: the 'best' weights kept so are the last ones, and a target "
        "network that is the model itself stands still at nothing.",
    fix="Keep copy.deepcopy(model.state_dict()), and make a second network by copy.deepcopy(model).",
    source="torch 2.14 documentation, Saving and Loading Models: best_model_state = model.state_dict() returns a "
           "reference, not its copy",
    check=check,
    trips=lambda: _load(20),
    passes=lambda: _load(0),
    threshold="every tensor of the state, after the first step; by their addresses",
)
