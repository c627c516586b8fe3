"""RUN415: a loss of probabilities that is given logits."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_loss

FUNCTIONS = ("cross_entropy_of_probabilities", "binary_cross_entropy")


def check(rows: Rows) -> Iterator[Finding]:
    """One finding where the last layer has no activation, or log-softmax, and the loss takes its output as it is."""
    for row in of(rows, "loss"):
        if row["function"] in FUNCTIONS and row.get("node") in ("Linear", "LogSoftmax") and row.get("layer"):
            what = (f"layer {row['layer']} ends without softmax or sigmoid, and the loss takes its output for "
                    "probabilities")
            yield found(RULE, what, where=at(row, layer=row["layer"]), evidence={"node": row["node"]})
            return


RULE = Rule(
    code="RUN415",
    name="logits_for_probabilities",
    severity="error",
    summary="the loss takes logits for probabilities",
    why="Whatever lies outside of [0, 1] is cut off, so that the loss is wrong and most gradients are zero.",
    fix="Give the loss from_logits=True, or the last layer its softmax (sigmoid for two classes).",
    source="Keras 3.15 documentation, SparseCategoricalCrossentropy; keras#15271",
    check=check,
    trips=lambda: toy_loop(more=[toy_loss(function="cross_entropy_of_probabilities", node="Linear", layer="dense_1")]),
    passes=lambda: toy_loop(more=[toy_loss(function="cross_entropy_of_probabilities", node="Softmax", layer="dense")]),
    wrong_when="the layer's weights themselves keep its output within [0, 1]",
    explains=("RUN408", "RUN303", "RUN605"),
)
