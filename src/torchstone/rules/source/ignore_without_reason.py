"""COD002: a comment that would silence a rule gives no reason."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding, Where
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch


def check(source: Source) -> Iterator[Finding]:
    """One finding per comment without `because …`."""
    for comment in source.module.ignored.values():
        if not comment.reason:
            what = "the comment silences nothing, because it gives no reason"
            yield found(RULE, what, where=Where(path=source.path, line=comment.line), evidence={"codes": comment.codes})


RULE = Rule(
    code="COD002",
    name="ignore_without_reason",
    severity="advice",
    summary="# torchstone: ignore without a reason",
    why="A waiver that says no reason cannot be judged by those who read it later.",
    fix="Write: # torchstone: ignore[COD104] because REASON",
    source="torchstone: a waiver needs a reason and is recorded",
    check=check,
    trips=lambda: sketch("import torch\nx = 1  # torchstone: ignore[COD401]\n"),
    passes=lambda: sketch("import torch\nx = 1  # torchstone: ignore[COD401] because the file is our own\n"),
)
