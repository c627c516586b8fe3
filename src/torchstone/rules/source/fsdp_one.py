"""COD505: the first version of FSDP is used."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at

NAMES = ("torch.distributed.fsdp.FullyShardedDataParallel",
         "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel")


def check(source: Source) -> Iterator[Finding]:
    """One finding per file that wraps a model in FullyShardedDataParallel, at its first place."""
    for _, moment in source.moments(*NAMES):
        yield found(RULE, "the model is wrapped in FullyShardedDataParallel, FSDP's first version", where=at(moment))
        return


RULE = Rule(
    code="COD505",
    name="source_fsdp_one",
    severity="advice",
    summary="FullyShardedDataParallel in place of fully_shard",
    why="It flattens parameters: state, freezing and low-rank adapters are harder, and it is no longer developed.",
    fix="Use torch.distributed.fsdp.fully_shard(module), block by block and then the whole.",
    source="torch 2.14 documentation, torch.distributed.fsdp.fully_shard: users of FSDP1 are advised to evaluate it",
    check=check,
    trips=lambda: sketch("from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\nmodel = FSDP(net)\n"),
    passes=lambda: sketch("from torch.distributed.fsdp import fully_shard\nfully_shard(net)\n"),
    wrong_when="a library needs the old wrapper",
)
