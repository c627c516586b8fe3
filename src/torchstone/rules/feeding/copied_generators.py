"""RUN508: every worker draws the same random numbers."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_data, toy_loop

WORKERS = 2


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per loader with two workers or more whose dataset holds a generator, and no worker_init_fn."""
    for row in of(rows, "data"):
        if row["generators"] and row["workers"] >= WORKERS and not row["has_init"]:
            names = ", ".join(row["generators"])
            what = f"the dataset holds a random generator ({names}); each of {row['workers']} workers gets a copy of it"
            yield found(RULE, what, where=at(row), evidence={"names": row["generators"], "workers": row["workers"]})


RULE = Rule(
    code="RUN508",
    name="copied_generators",
    severity="error",
    summary="a generator held by the dataset repeats itself in every worker and every epoch",
    why="Workers are copies of the dataset: the same augmentations come in each, and again in the next epoch.",
    fix="Seed a generator from (epoch, index) in __getitem__, or from torch.initial_seed() in worker_init_fn.",
    source="pytorch#5059; measured with torch 2.14.1, 2026-12-01: four workers drew the same numbers in every epoch",
    check=check,
    trips=lambda: toy_loop(more=[toy_data(generators=["rng"], workers=4)]),
    passes=lambda: toy_loop(more=[toy_data(workers=4)]),
    wrong_when="the generator is not used while batches are made",
)
