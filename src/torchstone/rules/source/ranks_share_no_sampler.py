"""COD501: each process of a distributed training goes through the whole set."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.loaders import dataset_of, is_off, trained_loaders
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    training_loops,
)
from torchstone.parts.source.value import Value, alternatives, origins
from torchstone.parts.source.wiring import (
    has_engine,
    trained_calls,
)
from torchstone.rules._sketches import DISTRIBUTED, changed
from torchstone.rules._source import at


def check(source: Source) -> Iterator[Finding]:
    """One finding per loader without a sampler that a model in DistributedDataParallel is trained on."""
    if has_engine(source.module.imported):
        return
    seen: set[int] = set()
    for play in source.plays:
        loops = training_loops(play)
        if not any(is_distributed(model) for _, model in trained_calls(play, loops)):
            continue
        for loader in trained_loaders(play):
            is_bare = is_off(loader, "sampler") and is_off(loader, "batch_sampler") and loader.path == source.path
            if is_bare and loader.line not in seen and not _is_shared_out(loader):
                seen.add(loader.line)
                yield found(RULE, "a model in DistributedDataParallel is trained on a loader without a sampler",
                            where=at(loader))


def is_distributed(model: Value | None) -> bool:
    """Whether a model is wrapped in DistributedDataParallel, on every branch."""
    options = alternatives(model)
    return bool(options) and all(one.kind == "call" and one.name.rpartition(".")[2] in (
        "DistributedDataParallel", "DDP") for one in options)


def _is_shared_out(loader: Value) -> bool:
    """Whether the dataset itself may know of ranks: an iterable one, or one made with the rank."""
    for one in origins(dataset_of(loader)):
        bases = one.definition.base_names() if one.definition is not None else set()
        is_iterable = "IterableDataset" in {base.rpartition(".")[2] for base in bases}
        words = f"{one.name} {one.alias} {one.const if isinstance(one.const, str) else ''}".lower()
        if is_iterable or any(word in words for word in ("rank", "shard", "world_size", "split_by_node")):
            return True
    return False


RULE = Rule(
    code="COD501",
    name="source_ranks_without_sampler",
    severity="error",
    summary="no DistributedSampler under DistributedDataParallel",
    why="Every process sees every row: an epoch is as many times longer as there are processes, and nothing is gained.",
    fix="Give the loader DistributedSampler(dataset), and call its set_epoch(epoch) in each epoch.",
    source="torch 2.14 documentation, DistributedDataParallel and DistributedSampler",
    check=check,
    trips=lambda: changed(DISTRIBUTED, (", sampler=sampler", ", shuffle=True"), ("    sampler.set_epoch(epoch)\n", "")),
    passes=lambda: changed(DISTRIBUTED),
    wrong_when="the dataset gives each rank rows of its own, or each rank shuffles by a seed of its own on purpose",
)
