"""RUN507: the data changes while it is trained on."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_data, toy_loop

PASSES = 2


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per loader whose dataset's tensors were changed in place before two passes."""
    for row in of(rows, "data"):
        if row["mutations"] >= PASSES:
            names = ", ".join(row["mutated"])
            what = f"{names} of the dataset was changed in place between {row['mutations'] + 1} passes"
            yield found(RULE, what, where=at(row), evidence={"tensors": row["mutated"], "passes": row["mutations"] + 1})


RULE = Rule(
    code="RUN507",
    name="data_mutated",
    severity="error",
    summary="the dataset's tensors are changed in place from epoch to epoch",
    why="An operation that ends in _ or a += on a batch or on the array behind the dataset adds up: the data drifts "
        "away from what is evaluated.",
    fix="Use x = x * s instead of x.mul_(s), and copy before changing what a dataset holds.",
    source="torch 2.14 documentation, Tensor views and in-place operations; the rule is our own",
    check=check,
    trips=lambda: toy_loop(more=[toy_data(mutations=3, mutated=["tensors[0]"])]),
    passes=lambda: toy_loop(more=[toy_data()]),
    wrong_when="the dataset is a buffer that is refilled on purpose, as in reinforcement learning",
    threshold=f"{PASSES} passes",
    explains=("RUN503", "RUN504"),
)
