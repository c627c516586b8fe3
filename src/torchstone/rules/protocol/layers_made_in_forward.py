"""RUN341: a layer that is made anew in each forward pass."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop

NUM = 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per kind of layer with weights that was built inside of forward three times, after two steps."""
    made: dict[tuple[str, str], int] = {}
    for row in of(rows, "made_inside"):
        key = row["owner"], row["layer"]
        made[key] = made.get(key, 0) + 1
        if made[key] == NUM:
            what = f"{key[0]}.forward builds a new {key[1]} each time: its weights are never the same and never learn"
            yield found(RULE, what, where=at(row), evidence={"owner": key[0], "layer": key[1]})


def _made(num: int) -> list[dict[str, object]]:
    row = {"event": "made_inside", "step": 3, "layer": "Linear", "owner": "Net", "place": "train.py:20"}
    return toy_loop(more=[row] * num)



RULE = Rule(
    code="RUN341",
    name="layers_made_in_forward",
    severity="error",
    summary="layers with weights are built inside of forward",
    why="Each pass goes through other random weights, which no optimizer holds and no checkpoint keeps.",
    fix="Build the layer in __init__ and call it in forward; use nn.LazyLinear where a size is not known before.",
    source="torch 2.14 documentation, nn.Module; the rule is our own",
    check=check,
    trips=lambda: _made(3),
    passes=lambda: _made(1),
    wrong_when="a hypernetwork whose layers get their weights set right after",
    threshold=f"{NUM} times after the second step: layers made lazily in the first pass are left out",
)
