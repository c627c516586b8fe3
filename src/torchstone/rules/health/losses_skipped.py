"""RUN613: losses that are not finite, and whose batches the loop leaves out."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._non_finite import cause
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_non_finite


def check(rows: Rows) -> Iterator[Finding]:
    """One finding for all losses that were not finite and never went backward, with the cause of the first."""
    skipped = [row for row in of(rows, "non_finite") if row.get("num_skipped") and not row.get("num_used")]
    if not skipped:
        return
    first, num = skipped[0], sum(row["num_skipped"] for row in skipped)
    why = cause(first)
    seen = f": {why.what}" if why.kind != "unknown" else ""
    kept = f"; that batch is kept in {first['kept']}" if first.get("kept") else ""
    yield found(RULE, f"the loss of step {first['step']} was {first['value']}, and its batch was left out{seen}{kept}",
                where=at(first, layer=first.get("layer")), fix=why.fix,
                evidence={"num": num, "first": first["step"], "cause": why.kind})  # fmt: skip


RULE = Rule(
    code="RUN613",
    name="losses_skipped",
    severity="warning",
    summary="batches are left out, because their loss is not finite",
    why="What is in these batches is never learnt, and a fault in data or model goes on unseen.",
    fix="Find out why the loss is not finite there, before you leave the batch out.",
    source="our own: no threshold, each is counted",
    check=check,
    trips=lambda: toy_loop(more=[toy_non_finite(num_used=0, num_skipped=2)]),
    passes=lambda: toy_loop(more=[toy_non_finite(num_used=0, num_skipped=0)]),
    wrong_when="a few broken examples are known, and leaving them out is meant",
    confidence="likely",
    explains=("RUN501",),
)
