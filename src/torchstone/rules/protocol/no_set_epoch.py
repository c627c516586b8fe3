"""RUN328: the distributed sampler deals out the same order in every epoch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Row, Rows, at, of, toy_loop, toy_pass


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per training loader whose DistributedSampler had the same epoch in two passes."""
    passes: dict[int, list[Row]] = defaultdict(list)
    for row in of(rows, "pass"):
        if row["order"] == "DistributedSampler" and row["backwards"] and row.get("is_shuffled", True):
            passes[row["loader"]].append(row)
    for group in passes.values():
        same = next((b for a, b in pairwise(group) if a["sampler_epoch"] == b["sampler_epoch"]), None)
        if same is not None:
            what = f"passes {same['number'] - 1} and {same['number']} over the loader had the same order"
            yield found(RULE, what, where=at(same), evidence={"epoch": same["sampler_epoch"]})


RULE = Rule(
    code="RUN328",
    name="no_set_epoch",
    severity="error",
    summary="sampler.set_epoch(epoch) is missing",
    why="DistributedSampler draws its order from seed and epoch: without set_epoch every epoch has the same batches.",
    fix="Call sampler.set_epoch(epoch) at the start of each epoch.",
    source="pytorch#31771; torch 2.14 documentation, DistributedSampler",
    check=check,
    trips=lambda: toy_loop(more=[
        toy_pass(order="DistributedSampler", backwards=3, number=n, sampler_epoch=0) for n in (1, 2)]),
    passes=lambda: toy_loop(more=[
        toy_pass(order="DistributedSampler", backwards=3, number=n, sampler_epoch=n) for n in (1, 2)]),
)
