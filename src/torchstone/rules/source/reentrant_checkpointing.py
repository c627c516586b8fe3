"""COD408: activation checkpointing is reentrant, on purpose or by default."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at, edit, insert_argument

NAMES = ("torch.utils.checkpoint.checkpoint", "torch.utils.checkpoint.checkpoint_sequential")


def check(source: Source) -> Iterator[Finding]:
    """One finding per checkpoint() that is told use_reentrant=True, and, as advice, that is not told."""
    for _, moment in source.moments(*NAMES):
        value = moment.value
        given = value.keywords.get("use_reentrant")
        if given is not None and given.is_const(True):
            is_written = isinstance(given.node, ast.Constant) and given.path == source.path
            edits = [edit(given.node, "False")] if is_written and given.node is not None else []
            yield found(RULE, "use_reentrant=True", where=at(moment), evidence={"edits": edits} if edits else {})
        elif given is None and "**" not in value.keywords and isinstance(value.node, ast.Call) and value.args:
            edits = [insert_argument(value.node, "use_reentrant=False")] if value.path == source.path else []
            yield found(RULE, "use_reentrant is not given", where=at(moment), severity="advice",
                        evidence={"edits": edits} if edits else {})


USE = "from torch.utils.checkpoint import checkpoint\ny = checkpoint(block, x, use_reentrant={})\n"
RULE = Rule(
    code="COD408",
    name="source_reentrant_checkpointing",
    severity="warning",
    summary="reentrant activation checkpointing",
    why="Where no input requires gradients (frozen embeddings, adapters) the layers inside get none at all.",
    fix="Give use_reentrant=False.",
    source="torch 2.14 documentation, torch.utils.checkpoint: use_reentrant; TorchFix TOR003",
    check=check,
    trips=lambda: sketch(USE.format(True)),
    passes=lambda: sketch(USE.format(False)),
    wrong_when="an old wrapper needs the reentrant kind, and the inputs require gradients",
)
