"""RUN504: inputs that were scaled over training and evaluation together."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_data, toy_loop, toy_pass, training_loaders

EXACT, APART, FEWEST = 1e-5, 1e-3, 30


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where all loaders together have mean 0 and deviation 1 exactly, and training alone has not."""
    trained = training_loaders(rows)
    mine = next((row for row in of(rows, "data") if row["loader"] in trained and row.get("centre") is not None), None)
    if mine is None or mine["centre"] < APART or mine.get("num", 0) < FEWEST:
        return
    for row in of(rows, "data"):
        together = row.get("centre_of_all")
        if row["loader"] not in trained and together is not None and together < EXACT:
            what = (f"over training and evaluation together every column has mean 0 and deviation 1 to {together:.1g}; "
                    f"over the training part alone they are off by {mine['centre']:.2g}")
            yield found(RULE, what, where=at(row), evidence={"together": together, "training": mine["centre"]})
            return


RULE = Rule(
    code="RUN504",
    name="scaled_before_split",
    severity="warning",
    summary="the scaling was learnt on evaluation data too",
    why="What is to be unseen has left its mark on the inputs: scores come out too good, on few rows by much.",
    fix="Split first; take mean and deviation from the training part, and apply them to all parts.",
    source="scikit-learn documentation, Common pitfalls: Data leakage; qlib#770; d2l-en#843",
    check=check,
    trips=lambda: toy_loop(more=[
        toy_pass(loader=0, backwards=14), toy_data(centre=0.05), toy_data(loader=1, centre=0.1, centre_of_all=1e-7)]),
    passes=lambda: toy_loop(more=[
        toy_pass(loader=0, backwards=14), toy_data(centre=1e-7), toy_data(loader=1, centre=0.1, centre_of_all=0.02)]),
    threshold=f"{EXACT:g} together, above {APART:g} apart: scaled numbers are exact, chance is not",
)
