"""RUN342: batch normalisation over one or two examples."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_input, toy_loop, toy_model

FEWEST, CALLS = 2, 3


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per model with batch norms in train mode that learns from batches of one or two examples."""
    for model in of(rows, "model"):
        own = [row for row in of(rows, "input") if row["root"] == model["model"]]
        seen = [row for row in own if row["has_grad"] and row["training"]]
        if model.get("batch_norms") and len(seen) >= CALLS and all(row["shape"][0] <= FEWEST for row in seen):
            num = max(row["shape"][0] for row in seen)
            what = f"{model['batch_norms']} batch norms learn from batches of {num}: so few make their statistics"
            yield found(RULE, what, where=at(seen[-1]), evidence={"batch": num, "norms": model["batch_norms"]})



RULE = Rule(
    code="RUN342",
    name="batch_norm_on_few",
    severity="warning",
    summary="batch normalisation on tiny batches",
    why="Mean and variance of one or two examples are noise, and evaluation goes by other, running statistics.",
    fix="Use GroupNorm or LayerNorm, or larger batches; accumulation of gradients does not help here.",
    source="Wu & He 2018, Group Normalization, figure 1: error grows below 16 examples and most at 2",
    check=check,
    trips=lambda: toy_loop(more=[toy_model(batch_norms=4), *[toy_input(shape=[2, 3, 8, 8])] * 3]),
    passes=lambda: toy_loop(more=[toy_model(batch_norms=4), *[toy_input(shape=[16, 3, 8, 8])] * 3]),
    wrong_when="each example is a large picture and the norm is used as an instance norm, as in pix2pix",
    threshold=f"at most {FEWEST} examples in each of the first {CALLS} batches",
    confidence="likely",
)
