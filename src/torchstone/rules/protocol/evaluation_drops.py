"""RUN330: the last batch of an evaluation is dropped."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_pass


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per loader with drop_last whose whole pass was without training and left examples out."""
    trained = {row["loader"] for row in of(rows, "pass") if row["backwards"]}
    told = set()
    for row in of(rows, "pass"):
        size, batch = row.get("of"), row.get("batch_size")
        is_evaluation = row["is_whole"] and row["forwards"] and row["loader"] not in trained
        if is_evaluation and row["drop_last"] and size and batch and size % batch and row["loader"] not in told:
            told.add(row["loader"])
            what = f"{size % batch} of {size} examples are never evaluated: the loader drops its last batch"
            yield found(RULE, what, where=at(row), evidence={"dropped": size % batch, "of": size})


RULE = Rule(
    code="RUN330",
    name="evaluation_drops",
    severity="error",
    summary="drop_last on an evaluation loader",
    why="The score is of another set than it claims to be, and it changes with the batch size.",
    fix="drop_last=False for validation and test.",
    source="Autoformer#104; PatchTST#7; Qiu et al. 2024, TFB: Towards Comprehensive and Fair Benchmarking",
    check=check,
    trips=lambda: toy_loop(more=[toy_pass(drop_last=True, examples=80)]),
    passes=lambda: toy_loop(more=[toy_pass()]),
)
