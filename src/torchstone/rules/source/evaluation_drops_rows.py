"""COD303: the loader that a model is evaluated on drops its last batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.loaders import held_out_loaders, is_on
from torchstone.parts.source.read import Source
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, edit


def check(source: Source) -> Iterator[Finding]:
    """One finding per DataLoader with drop_last=True that a play only evaluates on."""
    seen: set[int] = set()
    for play in source.plays:
        for loader in held_out_loaders(play):
            given = loader.given("drop_last", 8)
            is_own = loader.path == source.path and given is not None and given.path == source.path
            if given is not None and is_own and is_on(loader, "drop_last") and loader.line not in seen:
                seen.add(loader.line)
                evidence = {"edits": [edit(given.node, "False")]} if isinstance(given.node, ast.Constant) else {}
                yield found(RULE, "a loader that is only evaluated on has drop_last=True", where=at(loader),
                            evidence=evidence)


RULE = Rule(
    code="COD303",
    name="source_evaluation_drops_rows",
    severity="warning",
    summary="the last batch of held-out data is dropped",
    why="Scores are taken on fewer rows than there are, and on others with another batch size.",
    fix="Leave drop_last out where a model is evaluated.",
    source="torch 2.14 documentation, DataLoader: drop_last; github.com/zhouhaoyi/Informer2020 and successors",
    check=check,
    trips=lambda: changed(TRAINING, ("DataLoader(val_set)", "DataLoader(val_set, drop_last=True)")),
    passes=lambda: changed(TRAINING, ("shuffle=True", "shuffle=True, drop_last=True")),
    wrong_when="batches of one size are needed and the rows left out are counted elsewhere",
)
