"""RUN515: inputs and labels are shuffled each by itself."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_pass


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per pair of loaders in step, one of inputs, one of labels, at least one of them in random order."""
    trained = {row["loader"] for row in of(rows, "pass") if row["backwards"]}
    for row in of(rows, "beside"):
        is_apart = "random" in row["orders"] and not any(row["has_generators"])
        if is_apart and trained & {row["inputs"], row["labels"]}:
            one, other = row["orders"]
            what = (f"inputs and labels of {row['of']} examples come from two loaders side by side, in {one} and in "
                    f"{other} order: no label is that of its input")
            yield found(RULE, what, where=at(row), evidence={"orders": row["orders"], "of": row["of"]})


def _beside(order: str) -> list[dict[str, object]]:
    row: Row = {"event": "beside", "step": 2, "inputs": 0, "labels": 1, "place": "train.py:20", "of": 448,
                "orders": [order, order], "has_generators": [False, False]}  # fmt: skip
    return toy_loop(more=[toy_pass(loader=1, backwards=14), dict(row)])


RULE = Rule(
    code="RUN515",
    name="labels_shuffled_apart",
    severity="error",
    summary="inputs and labels are shuffled apart",
    why="Each loader draws an order of its own: the labels belong to other inputs, and there is nothing to learn.",
    fix="One dataset that gives both: TensorDataset(inputs, labels), or an index into both.",
    source="torch 2.14 documentation, torch.utils.data: RandomSampler draws its own seed; Humbatova et al. 2020 (ICSE)",
    check=check,
    trips=lambda: _beside("random"),
    passes=lambda: _beside("sequential"),
    wrong_when="the labels are conditions drawn at random, not answers",
    explains=("RUN605",),
)
