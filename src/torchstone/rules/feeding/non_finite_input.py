"""RUN501: values in the input that are not finite."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_input, toy_loop


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the model was given NaN or infinity in one of the first batches."""
    for row in of(rows, "input"):
        if row.get("num_bad"):
            what = f"{row['num_bad']} values of an input {row['shape']} are NaN or infinite"
            yield found(RULE, what, where=at(row), evidence={"num": row["num_bad"], "shape": row["shape"]})
            return


RULE = Rule(
    code="RUN501",
    name="non_finite_input",
    severity="error",
    summary="NaN or infinity goes into the model",
    why="One such value makes the loss and, with one step, every weight NaN.",
    fix="Find the examples with torch.isfinite, and mend or drop them before training.",
    source="Schoop et al. 2021, UMLAUT (CHI)",
    check=check,
    trips=lambda: toy_loop(more=[toy_input(num_bad=3)]),
    passes=lambda: toy_loop(more=[toy_input()]),
    wrong_when="the model handles missing values itself",
)
