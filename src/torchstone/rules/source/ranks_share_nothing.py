"""COD508: several processes train, and nothing exchanges their gradients."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    optimizer_steps,
    training_loops,
)
from torchstone.parts.source.value import Value, alternatives
from torchstone.parts.source.wiring import (
    has_engine,
    trained_calls,
)
from torchstone.rules._sketches import DISTRIBUTED, changed
from torchstone.rules._source import at, own

SHARES = ("all_reduce", "reduce", "broadcast", "fully_shard", "all_gather", "reduce_scatter", "reduce_scatter_tensor",
          "DistributedDataParallel", "DDP", "FullyShardedDataParallel", "FSDP", "parallelize_module", "send", "isend",
          "all_gather_object", "all_gather_into_tensor", "all_reduce_coalesced", "initialize", "replicate", "rpc_sync")


def check(source: Source) -> Iterator[Finding]:
    """One finding per training of a model made here, in a process group, without a call that exchanges tensors."""
    if has_engine(source.module.imported):
        return
    for play in source.plays:
        groups = play.calls("torch.distributed.init_process_group")
        steps = [moment for moment, optimizer in optimizer_steps(play) if is_made(optimizer)]
        if play.is_cut or not groups or not steps:
            continue
        names = {moment.value.name.rpartition(".")[2] for moment in play.calls()}
        trained = [model for _, model in trained_calls(play, training_loops(play))]
        if not names & set(SHARES) and trained and all(is_made(model) for model in trained):
            for moment in own(source, groups[:1]):
                yield found(RULE, "processes are joined into a group, and nothing exchanges gradients or weights",
                            where=at(moment))


def is_made(value: Value | None) -> bool:
    """Whether a value was seen being made."""
    options = alternatives(value)
    return bool(options) and all(one.kind == "call" and one.receiver is None for one in options)


RULE = Rule(
    code="COD508",
    name="source_ranks_share_nothing",
    severity="warning",
    summary="a process group, and no exchange of gradients",
    why="Each process trains a model of its own on its share of the rows; the others' work is lost.",
    fix="Wrap the model in DistributedDataParallel before the optimizer is made.",
    source="torch 2.14 documentation, Getting started with DistributedDataParallel",
    check=check,
    trips=lambda: changed(DISTRIBUTED, ("DDP(torch.nn.Linear(4, 1))", "torch.nn.Linear(4, 1)")),
    passes=lambda: changed(DISTRIBUTED),
    wrong_when="gradients are exchanged in code that was not followed",
)
