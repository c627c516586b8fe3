"""COD106: a schedule counted in batches steps once per epoch."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import innermost, is_loader, scheduler_steps, training_loops
from torchstone.parts.source.value import Value, alternatives, origins
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own
from torchstone.rules.source.schedule_of_epochs_per_batch import LENGTHS


def check(source: Source) -> Iterator[Finding]:
    """One finding per schedule whose length is a multiple of len(loader), stepped outside the loop over batches."""
    for play in source.plays:
        sick = [moment for moment, scheduler in scheduler_steps(play)
                if _is_per_epoch(play, moment) and any(_is_of_batches(one) for one in alternatives(scheduler))]
        for moment in own(source, sick):
            yield found(RULE, "the schedule's length is counted in batches, and it steps once per epoch",
                        where=at(moment))


def _is_per_epoch(play: Play, moment: Moment) -> bool:
    """Whether the innermost loop around a step holds a training loop as an inner one, and no other step in it."""
    loop = innermost(moment)
    inner = [one for one in training_loops(play) if loop is not None and one is not loop
             and any(loop in each.loops for each in play.inside(one))]
    is_only = not any(innermost(other) in inner for other, _ in scheduler_steps(play))
    return bool(inner) and is_only


def _is_of_batches(scheduler: Value) -> bool:
    if not scheduler.name.startswith("torch.optim.lr_scheduler."):
        return False
    name = scheduler.name.rpartition(".")[2]
    keyword, position = LENGTHS.get(name, ("", None))
    lengths = [scheduler.given(keyword, position)]
    if name == "OneCycleLR":
        per_epoch = scheduler.given("steps_per_epoch", 4)
        if per_epoch is not None and _has_length_of_loader(per_epoch):
            return True
    return any(length is not None and any(one.kind == "op" and one.name == "Mult" for one in origins(length))
               and _has_length_of_loader(length) for length in lengths)


def _has_length_of_loader(value: Value) -> bool:
    return any(one.is_call("len") and one.args and is_loader(one.args[0]) for one in origins(value))


RULE = Rule(
    code="COD106",
    name="source_schedule_of_batches_per_epoch",
    severity="warning",
    summary="a schedule counted in batches steps once per epoch",
    why="The schedule never gets beyond its first values: a one-cycle rate stays in its warm-up.",
    fix="Call scheduler.step() after each optimizer.step(), or count the schedule in epochs.",
    source="torch 2.14 documentation, OneCycleLR: step should be called after a batch has been used for training",
    check=check,
    trips=lambda: changed(TRAINING, ("        scheduler.step()\n", ""),
                          ("    model.eval()\n", "    scheduler.step()\n    model.eval()\n")),
    passes=lambda: changed(TRAINING),
    wrong_when="the rate is meant to stay near its start",
)
