"""RUN327: several ranks, and each draws from all of the data."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.rules._watched import Rows, at, of, toy_loop, toy_pass


def check(rows: Rows) -> Iterator[Finding]:
    """One finding per training loader that deals out the whole dataset on each of several ranks."""
    told = set()
    for row in of(rows, "pass"):
        is_whole = row.get("sampler_size") is not None and row.get("sampler_size") == row.get("of")
        if row.get("world", 1) > 1 and row["backwards"] >= 2 and is_whole and row["loader"] not in told:
            told.add(row["loader"])
            what = f"{row['world']} ranks train, and each deals out all {row['of']} examples ({row['order']} order)"
            yield found(RULE, what, where=at(row), evidence={"world": row["world"], "of": row["of"]})


RULE = Rule(
    code="RUN327",
    name="no_distributed_sampler",
    severity="error",
    summary="the training loader does not share its data out over the ranks",
    why="Each epoch sees every example once per rank: with equal seeds all ranks compute the same batch, and the "
        "larger batch that was paid for is an illusion.",
    fix="Give the DataLoader sampler=DistributedSampler(dataset), and call sampler.set_epoch(epoch).",
    source="physicsnemo#143; pytorch-lightning#7813; torch 2.14 documentation, DistributedSampler",
    check=check,
    trips=lambda: toy_loop(more=[toy_pass(backwards=3, order="random", world=2)]),
    passes=lambda: toy_loop(more=[toy_pass(backwards=3, order="DistributedSampler", sampler_size=48, world=2)]),
    wrong_when="ranks draw with different seeds on purpose and count epochs otherwise",
    explains=("RUN514",),
)
