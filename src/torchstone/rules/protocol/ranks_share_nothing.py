"""RUN346: several processes train a model each."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, place_of, toy_loop

STEPS = 20


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where a process group is there, no model is wrapped or sharded, and nothing was sent in 20 steps."""
    for row in of(rows, "ranks"):
        is_tied = row["wrappers"] or row["num_hooked"] or row["is_sharded"] or row["collectives"]
        if row["step"] >= STEPS and not is_tied:
            what = f"{row['world']} processes have taken {row['step']} steps and sent each other nothing"
            yield found(RULE, what, where=at(row, place_of(rows, "optimizer")), evidence={"world": row["world"]})
            return


def _ranks(collectives: int) -> list[dict[str, object]]:
    row = {"event": "ranks", "step": 20, "world": 2, "collectives": collectives, "wrappers": [], "is_sharded": False,
           "num_hooked": 0}  # fmt: skip
    return toy_loop(more=[row])


RULE = Rule(
    code="RUN346",
    name="ranks_share_nothing",
    severity="error",
    summary="a process group without anything that ties the models together",
    why="Each rank trains a model of its own on its part of the data; one of them is saved, the others are heat.",
    fix="Wrap the model in DistributedDataParallel (or shard it with fully_shard) before the optimizer is built.",
    source="torch 2.14 documentation, DistributedDataParallel",
    check=check,
    trips=lambda: _ranks(0),
    passes=lambda: _ranks(20),
    wrong_when="the processes are meant to be apart, as in a sweep",
    threshold=f"{STEPS} steps",
    explains=("RUN350",),
)
