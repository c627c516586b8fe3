"""RUN335: everything is frozen."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, place_of, toy_loop

STEPS = 5


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where no optimizer holds a parameter to be trained, over five steps or more and all of them."""
    looked = [row for row in of(rows, "step") if row.get("num_trained") is not None]
    if len(looked) < STEPS or any(row["num_trained"] for row in looked):
        return
    what = f"in {len(looked)} steps no parameter of any optimizer was to be trained: all are frozen"
    yield found(RULE, what, where=at(looked[STEPS - 1], place_of(rows, "optimizer")),
                evidence={"steps": len(looked), "num_trained": 0})


RULE = Rule(
    code="RUN335",
    name="nothing_to_train",
    severity="error",
    summary="everything is frozen",
    why="The loop runs, the loss wobbles from batch to batch, and no weight moves.",
    fix="Set requires_grad (in Keras: trainable) of what is to learn to True, before the optimizer is built.",
    source="Keras 3.15 warns of it in its trainer; TrainCheck 2025 (OSDI), forum-84911",
    check=check,
    trips=lambda: toy_loop(change=lambda number, row: {"num_trained": 0, "num_grads": 0}),
    passes=lambda: toy_loop(change=lambda number, row: {"num_trained": 0 if number < 10 else 4}),
    threshold=f"no parameter at all, over {STEPS} steps",
    explains=("RUN302", "RUN303", "RUN603", "RUN605"),
)
