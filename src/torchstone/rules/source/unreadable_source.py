"""COD001: a file of Python that cannot be read."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.parts.source.module import Module
from torchstone.parts.source.read import Source, read_source, sketch


def check(source: Source) -> Iterator[Finding]:
    """One finding where the text is no Python."""
    if source.module.unreadable is not None:
        reason, line = source.module.unreadable
        yield found(RULE, f"the file was not read: {reason}", where=Where(path=source.path, line=line or None))


RULE = Rule(
    code="COD001",
    name="unreadable_source",
    severity="warning",
    summary="a file is no Python that this interpreter can read",
    why="What is not read is not judged: faults in it stay unseen.",
    fix="Mend the syntax, or leave the file out with --exclude.",
    source="Python's own parser",
    check=check,
    trips=lambda: read_source(Module("old.py", "old", "", ast.Module([], []), unreadable=("not Python", 3))),
    passes=lambda: sketch("import torch\n"),
    wrong_when="the file is a template, or written for another version of Python",
)
