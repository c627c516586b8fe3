"""COD214: softmax is called without an axis."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at

NAMES = ("torch.nn.functional.softmax", "torch.nn.functional.log_softmax", "torch.nn.functional.softmin")


def check(source: Source) -> Iterator[Finding]:
    """One finding per softmax, or layer of it, without dim."""
    for _, moment in source.moments(*NAMES, "torch.nn.Softmax", "torch.nn.LogSoftmax"):
        value = moment.value
        place = 1 if value.name in NAMES else 0
        if value.given("dim", place) is None and not {"*", "**"} & set(value.keywords):
            yield found(RULE, f"{value.name.rpartition('.')[2]} is not told its axis", where=at(moment))


RULE = Rule(
    code="COD214",
    name="source_softmax_without_dim",
    severity="warning",
    summary="softmax without dim",
    why="torch then guesses: axis 0 for tensors of 1 and 3 axes, which is the batch or the sequence.",
    fix="Say dim=-1, or the axis of the classes.",
    source="torch 2.14, functional.softmax: implicit dimension choice has been deprecated",
    check=check,
    trips=lambda: sketch("import torch.nn.functional as F\np = F.softmax(x)\n"),
    passes=lambda: sketch("import torch.nn.functional as F\np = F.softmax(x, dim=-1)\n"),
    wrong_when="not known to be wrong",
)
