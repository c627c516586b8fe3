"""RUN309: layers in a plain list."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, place_of, some, toy_loop, toy_model


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per model that holds layers where parameters() does not look."""
    for row in of(rows, "model"):
        if row.get("unregistered"):
            names = row["unregistered"]
            what = f"{row['class']} holds layers in plain containers: {some(names)}; parameters() does not see them"
            yield found(RULE, what, where=at(row, place_of(rows, "optimizer"), layer=names[0]),
                        evidence={"attributes": names})


RULE = Rule(
    code="RUN309",
    name="unregistered_layers",
    severity="error",
    summary="layers in a plain list, tuple or dict are not trained, moved or saved",
    why="The optimizer never sees their weights, .to(device) leaves them behind, and the checkpoint lacks them.",
    fix="Use nn.ModuleList, nn.ModuleDict or nn.ParameterList.",
    source="pytorch#59925; torch 2.14 documentation, nn.ModuleList",
    check=check,
    trips=lambda: toy_loop(more=[toy_model(unregistered=["layers"])]),
    passes=toy_loop,
    wrong_when="the same layers are registered elsewhere: those are not reported",
    explains=("RUN307", "RUN308"),
)
