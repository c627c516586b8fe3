"""COD504: DataParallel is used."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at


def check(source: Source) -> Iterator[Finding]:
    """One finding per file that wraps a model in DataParallel, at its first place."""
    for _, moment in source.moments("torch.nn.DataParallel", "torch.nn.parallel.DataParallel"):
        yield found(RULE, "the model is wrapped in DataParallel", where=at(moment))
        return


RULE = Rule(
    code="COD504",
    name="source_data_parallel",
    severity="advice",
    summary="DataParallel in place of DistributedDataParallel",
    why="One process drives all devices and copies the model in each step: slower, and the first device holds more.",
    fix="Use DistributedDataParallel with torchrun, one process per device.",
    source="torch 2.14 documentation, DataParallel: it is recommended to use DistributedDataParallel instead",
    check=check,
    trips=lambda: sketch("from torch import nn\nmodel = nn.DataParallel(nn.Linear(2, 1))\n"),
    passes=lambda: sketch("from torch import nn\nmodel = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))\n"),
    wrong_when="a notebook on one machine, where starting processes is not worth it",
)
