"""RUN512: shuffled, but in the same order in every epoch."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_pass, training_loaders

AGAIN, FEWEST = 2, 4


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per training loader in random order whose later passes all began with the batch of the first."""
    trained = training_loaders(rows)
    for row in of(rows, "order"):
        is_same = row["again"] >= AGAIN and row["same"] == row["again"] and row["num"] >= FEWEST
        if is_same and row["loader"] in trained and goes_on(rows, row):
            num = row["again"] + 1
            what = f"the first {num} passes all began with the same {row['num']} examples in the same order"
            yield found(RULE, what, where=at(row), evidence={"passes": row["again"] + 1, "examples": row["num"]})


def goes_on(rows: Rows, row: Row) -> bool:
    """Whether no optimizer was built between these passes; where each has its own, several models are compared."""
    first, last = row["steps"][0], row["steps"][-1]
    return not any(first <= one["step"] <= last for one in of(rows, "optimizer"))


def _order(same: int) -> list[dict[str, object]]:
    row = {"event": "order", "step": 14, "loader": 0, "place": "train.py:25", "num": 32, "again": 2, "same": same,
           "steps": [14, 28]}  # fmt: skip
    return toy_loop(more=[toy_pass(loader=0, backwards=14, order="random"), row])


RULE = Rule(
    code="RUN512",
    name="same_order_each_epoch",
    severity="error",
    summary="the data are shuffled in the same order in every epoch",
    why="Each epoch repeats the batches of the first: what shuffling is for is lost, and random augmentation repeats "
        "itself as well.",
    fix="Seed once, before the first epoch; a generator given to the DataLoader is not seeded again.",
    source="torch 2.14 documentation, Reproducibility: DataLoader; the same fault as pytorch#31771 without ranks",
    check=check,
    trips=lambda: _order(2),
    passes=lambda: _order(1),
    wrong_when="the same batches are wanted in each epoch, as in a test that learns them by heart",
    threshold=f"the first batch of {AGAIN + 1} passes, row for row, {FEWEST} different examples or more",
)
