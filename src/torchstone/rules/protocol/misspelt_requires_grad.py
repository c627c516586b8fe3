"""RUN310: `require_grad`, which means nothing."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, place_of, some, toy_loop, toy_model


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per model on whose parameters the attribute was set."""
    for row in of(rows, "model"):
        if row.get("misspelt"):
            names = row["misspelt"]
            what = f"require_grad was set on {len(names)} tensors ({some(names)}); the attribute is requires_grad"
            where = at(row, place_of(rows, "optimizer"), layer=names[0])
            yield found(RULE, what, where=where, evidence={"names": names})


RULE = Rule(
    code="RUN310",
    name="misspelt_requires_grad",
    severity="error",
    summary="an attribute require_grad was set, so that nothing was frozen",
    why="Python takes any attribute; the layers that were to be frozen are trained.",
    fix="Write parameter.requires_grad_(False), which fails when it is misspelt.",
    source="TorchFix 0.7.0, TOR002",
    check=check,
    trips=lambda: toy_loop(more=[toy_model(misspelt=["body.0.weight"])]),
    passes=toy_loop,
)
