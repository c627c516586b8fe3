"""RUN505: examples of the evaluation that were trained on."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_data, toy_loop, toy_pass, training_loaders

SHARE, FEWEST = 0.05, 20


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per evaluation loader with a twentieth of its distinct inputs among those of training."""
    trained = training_loaders(rows)
    for row in of(rows, "data"):
        if row["loader"] in trained or row.get("num_distinct", 0) < FEWEST or has_few_values(rows, trained):
            continue
        shared = max((row["overlap"].get(str(loader), 0) for loader in trained), default=0)
        share = shared / row["num_distinct"]
        if share >= SHARE:
            num = row["num_distinct"]
            what = f"{shared} of {num} inputs of the evaluation ({share:.0%}) were dealt out in training too"
            yield found(RULE, what, where=at(row), evidence={"shared": shared, "of": num, "share": share})


def has_few_values(rows: Rows, trained: set[int]) -> bool:
    """Whether inputs repeat inside of the training part already, so that equal rows are no sign of a leak."""
    mine: list[Row] = [row for row in of(rows, "data") if row["loader"] in trained and row.get("num")]
    return any(row["num_distinct"] < (1 - SHARE) * row["num"] for row in mine)


RULE = Rule(
    code="RUN505",
    name="evaluation_overlaps_training",
    severity="error",
    summary="the model is examined on what it has learnt by heart",
    why="The score says how well it remembers, not how well it will do on new data.",
    fix="Split by distinct examples (and by group, where examples of one source resemble each other).",
    source="marin#2700; TOSICA#11; Kapoor & Narayanan 2023, Leakage and the reproducibility crisis",
    check=check,
    trips=lambda: toy_loop(more=[
        toy_pass(loader=0, backwards=14), toy_data(), toy_data(loader=1, num=96, num_distinct=96, overlap={"0": 96})]),
    passes=lambda: toy_loop(more=[
        toy_pass(loader=0, backwards=14), toy_data(), toy_data(loader=1, num=96, num_distinct=96, overlap={"0": 1})]),
    wrong_when="a loader over the training part measures the training score, in eval mode",
    threshold=f"{SHARE:.0%} of {FEWEST} or more distinct inputs; silent where training repeats inputs itself",
    explains=("RUN811", "RUN812"),
)
