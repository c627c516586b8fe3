"""RUN517: a batch of fewer inputs than labels."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop

BATCHES = 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per loader whose first three batches hold as many labels as asked for, and fewer inputs."""
    for row in of(rows, "fewer"):
        if row["batches"] >= BATCHES:
            what = (f"batches of {row['batch_size']} hold {row['labels'][0]} labels and inputs {row['inputs']}: "
                    f"{row['inputs'][0]} for all of them")
            yield found(RULE, what, where=at(row), evidence={"inputs": row["inputs"], "labels": row["labels"]})


def _row(batches: int) -> dict[str, object]:
    return {"event": "fewer", "step": 0, "loader": 0, "place": "train.py:25", "inputs": [1, 64], "labels": [50],
            "batch_size": 50, "batches": batches}  # fmt: skip


RULE = Rule(
    code="RUN517",
    name="fewer_inputs_than_labels",
    severity="error",
    summary="a batch holds fewer inputs than labels",
    why="What collates or processes the batch has dropped examples: one output is compared with the labels of all.",
    fix="See what collate_fn or the processor gives back: one row for each example.",
    source="transformers#34204",
    check=check,
    trips=lambda: toy_loop(more=[_row(3)]),
    passes=lambda: toy_loop(more=[_row(1)]),
    wrong_when="one input is shared by all labels of a batch on purpose",
    threshold=f"{BATCHES} batches, in which no axis but the labels' is as long as the batch",
    explains=("RUN404",),
)
