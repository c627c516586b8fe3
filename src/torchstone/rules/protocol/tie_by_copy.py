"""RUN337: an embedding and a head that were equal and are not one."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, some, toy_loop, toy_model


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per model with an embedding and a linear layer of equal weights that are two tensors."""
    for row in of(rows, "model"):
        pairs = row.get("copies") or []
        if pairs:
            what = f"{some(pairs)} began with equal weights and are two tensors: they are not tied"
            yield found(RULE, what, where=at(row, layer=pairs[0]), evidence={"pairs": pairs})



RULE = Rule(
    code="RUN337",
    name="tie_by_copy",
    severity="warning",
    summary="weights that look tied are copies",
    why="From the first step on the two go apart: twice the weights, and not the model that was meant.",
    fix="Assign the parameter itself, after all initialisation: head.weight = embedding.weight.",
    source="Press & Wolf 2017, Using the Output Embedding to Improve Language Models",
    check=check,
    trips=lambda: toy_loop(more=[toy_model(copies=["wte.weight = lm_head.weight"])]),
    passes=toy_loop,
    wrong_when="a head that only starts from the embedding is meant",
)
