"""COD150: the loss is scaled, and nothing computes in float16."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    is_from_scratch,
)
from torchstone.parts.source.value import alternatives
from torchstone.parts.source.wiring import (
    has_engine,
    models_of,
    scaled_backwards,
)
from torchstone.rules._sketches import SCALED, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per file that scales its loss and never names autocast, half or float16."""
    if has_engine(source.module.imported):
        return
    for play in source.plays:
        is_followed = any(is_from_scratch(one) for _, model in models_of(play) for one in alternatives(model))
        for moment in own(source, scaled_backwards(play) if is_followed and not play.is_cut else []):
            if _names_a_precision(source.tree):
                return
            yield found(RULE, "the loss is scaled, and the forward pass computes in float32", where=at(moment))
            return


def _names_a_precision(tree: ast.Module) -> bool:
    words = (getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(tree)
             if isinstance(node, (ast.Attribute, ast.Name)))  # fmt: skip
    return any("autocast" in word or word in ("half", "float16", "bfloat16") for word in words)


RULE = Rule(
    code="COD150",
    name="source_scaler_without_autocast",
    severity="warning",
    summary="a loss scaler and no autocast",
    why="In float32 scaling does nothing: the autocast that was to save time and memory is missing.",
    fix="Run the forward pass and the loss within torch.autocast, or take the scaler out.",
    source="torch 2.14 documentation, Automatic mixed precision examples",
    check=check,
    trips=lambda: changed(SCALED, ('    with torch.autocast("cuda", dtype=torch.float16):\n        loss', "    loss")),
    passes=lambda: changed(SCALED),
    wrong_when="the model itself opens an autocast in a file that was not read",
)
