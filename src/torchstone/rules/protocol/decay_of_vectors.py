"""RUN344: strong weight decay on biases and norms."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_optimizer

STRONG = 0.05


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per optimizer with strong decay on a group that holds matrices and vectors."""
    for row in of(rows, "optimizer"):
        mixed = [g for g in row["groups"] if g["weight_decay"] >= STRONG and 0 < g["num_vectors"] < g["num"]]
        if mixed and row.get("own_steps"):
            decay, num = mixed[0]["weight_decay"], mixed[0]["num_vectors"]
            what = f"a decay of {decay:g} also pulls {num} biases and scales to 0"
            yield found(RULE, what, where=at(row), evidence=dict(mixed[0]))



def _loop(decay: float) -> list[dict[str, object]]:
    return toy_loop(more=[toy_optimizer(groups=[{"lr": 1e-3, "weight_decay": decay, "num": 4, "num_vectors": 2}])])


RULE = Rule(
    code="RUN344",
    name="decay_of_vectors",
    severity="advice",
    summary="weight decay on biases and norm scales",
    why="Decay is meant for matrices; scales of norms are pulled away from 1, and it costs a little accuracy.",
    fix="Give parameters of fewer than two dimensions a group of their own with weight_decay=0.",
    source="He et al. 2019, Bag of Tricks, section 3.1; Loshchilov & Hutter 2019",
    check=check,
    trips=lambda: _loop(0.1),
    passes=lambda: _loop(0.0),
    wrong_when="the recipe that is followed decays everything",
    threshold=f"a decay of {STRONG:g} or more",
)
