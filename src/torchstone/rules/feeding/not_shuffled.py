"""RUN506: batches of one class each."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_data, toy_loop, toy_pass, training_loaders

SHARE, BATCHES = 0.5, 6


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per training loader whose batches hold less than half of the mix of labels that the whole has."""
    trained = training_loaders(rows)
    for row in of(rows, "data"):
        whole, inside = row.get("entropy"), row.get("batch_entropy")
        if row["loader"] not in trained or not whole or inside is None or row["batches"] < BATCHES:
            continue
        if whole > 0.3 and inside < SHARE * whole:
            what = (f"a batch holds {inside:.2g} nats of labels on average, the whole set {whole:.2g}: examples come "
                    "sorted by label")
            yield found(RULE, what, where=at(row), evidence={"in_batches": inside, "whole": whole})


RULE = Rule(
    code="RUN506",
    name="not_shuffled",
    severity="error",
    summary="training batches come in the order of the labels",
    why="Each batch pulls the model towards one class and away from the others; BatchNorm sees one class at a time.",
    fix="shuffle=True in the DataLoader, or shuffle the file once.",
    source="yolov5#2582; mmdetection#1649; vision#7818",
    check=check,
    trips=lambda: toy_loop(more=[toy_pass(loader=0, backwards=14), toy_data(batch_entropy=0.1)]),
    passes=lambda: toy_loop(more=[toy_pass(loader=0, backwards=14), toy_data()]),
    wrong_when="batches of one class are the method, as in some contrastive sampling",
    threshold=f"half of the whole set's entropy, over {BATCHES} batches or more",
    confidence="likely",
)
