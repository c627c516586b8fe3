"""COD506: the sampler of every process is told the same rank."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.rules._sketches import DISTRIBUTED, changed
from torchstone.rules._source import at


def check(source: Source) -> Iterator[Finding]:
    """One finding per DistributedSampler whose rank is a constant, where several processes run this code."""
    for play, moment in source.moments():
        value = moment.value
        if value.receiver is not None or value.name.rpartition(".")[2] != "DistributedSampler":
            continue
        rank, number = value.given("rank", 2), value.given("num_replicas", 1)
        is_alone = (number is not None and number.is_const(1)) or not play.calls(
            "torch.distributed.init_process_group", "torch.nn.parallel.DistributedDataParallel")
        if rank is not None and isinstance(rank.node, ast.Constant) and rank.const is not None and not is_alone:
            yield found(RULE, f"every process is given the share of rank {rank.const}", where=at(moment))


RULE = Rule(
    code="COD506",
    name="source_sampler_of_one_rank",
    severity="error",
    summary="the rank of a DistributedSampler is a constant",
    why="All processes see the same share of the rows, and the rest is never trained on.",
    fix="Leave rank and num_replicas out: the sampler asks the process group.",
    source="torch 2.14 documentation, DistributedSampler: rank, by default retrieved from the current group",
    check=check,
    trips=lambda: changed(DISTRIBUTED, ("Sampler(train_set)", "Sampler(train_set, num_replicas=2, rank=0)")),
    passes=lambda: changed(DISTRIBUTED, ("Sampler(train_set)", "Sampler(train_set, rank=dist.get_rank())")),
    wrong_when="only one process runs this line",
)
