"""RUN425: labels that begin at one."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_data, toy_loop, toy_loss, toy_pass, training_loaders

FEWEST = 50


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where a whole pass over the training data had every class of the outputs but class 0."""
    shapes = [row["input_shape"] for row in of(rows, "loss") if row["has_grad"] and row["function"] == "cross_entropy"]
    widths = {shape[1] for shape in shapes if len(shape) == 2}
    trained = training_loaders(rows)
    for row in of(rows, "data"):
        low, high = row.get("label_low"), row.get("label_high")
        if row["loader"] not in trained or len(widths) != 1 or low != 1 or (row.get("num") or 0) < FEWEST:
            continue
        width = next(iter(widths))
        if high == width - 1 and row.get("num_labels") == width - 1 and width > 2:
            what = f"the labels go from 1 to {high}, and the model has {width} outputs: class 0 never occurs"
            yield found(RULE, what, where=at(row), evidence={"low": low, "high": high, "outputs": width})


def _data(low: int) -> list[dict[str, object]]:
    return toy_loop(more=[toy_loss(input_shape=[32, 5]), toy_pass(loader=0, backwards=14),
                          toy_data(label_low=low, label_high=4, num_labels=5 - low)])  # fmt: skip


RULE = Rule(
    code="RUN425",
    name="labels_from_one",
    severity="advice",
    summary="labels begin at 1, and an output is left over",
    why="One output is never right; names by index, confusion tables and averages over classes are off by one.",
    fix="Subtract 1 from the labels and take one output away.",
    source="torch 2.14 documentation, cross_entropy: classes are 0 to C-1",
    check=check,
    trips=lambda: _data(1),
    passes=lambda: _data(0),
    wrong_when="class 0 is kept for what comes later, as for background",
    threshold=f"a whole pass over {FEWEST} examples or more",
)
