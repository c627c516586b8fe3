"""COD401: torch.load may run code that a file holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at, edit


def check(source: Source) -> Iterator[Finding]:
    """One finding per torch.load with weights_only=False."""
    for _, moment in source.moments("torch.load"):
        given = moment.value.given("weights_only")
        if given is not None and given.is_const(False) and isinstance(given.node, ast.Constant):
            yield found(RULE, "torch.load is told weights_only=False", where=at(moment),
                        evidence={"edits": [edit(given.node, "True")]} if given.path == source.path else {})


RULE = Rule(
    code="COD401",
    name="load_without_weights_only",
    severity="warning",
    summary="torch.load with weights_only=False runs code from the file",
    why="A file of others can run anything on this machine when it is loaded.",
    fix="Load with weights_only=True (the default since torch 2.6), or keep weights as safetensors.",
    source="torch 2.14 documentation, torch.load: warning on weights_only; TorchFix TOR102",
    check=check,
    trips=lambda: sketch("from torch import load\nstate = load('a.pt', weights_only=False)\n"),
    passes=lambda: sketch("from torch import load\nstate = load('a.pt', weights_only=True)\n"),
    wrong_when="the file is your own and holds more than tensors",
)
