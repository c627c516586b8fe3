"""COD138: the loss is divided by the accumulated batches, by hand and by the accelerator."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.training import (
    backwards,
)
from torchstone.parts.source.value import Value, alternatives
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per accelerator.backward(loss / steps) of an Accelerator that divides by its own number of steps."""
    for play in source.plays:
        sick = []
        for moment, loss in backwards(play):
            made = [one for one in alternatives(moment.value.receiver) if one.kind == "call"]
            number = [one.given("gradient_accumulation_steps") for one in made
                      if one.name.rpartition(".")[2] == "Accelerator"]
            if moment.value.name != "backward" or not number or not play.calls(".accumulate"):
                continue
            by = [one.args[1] for one in alternatives(loss) if one.kind == "op" and one.name == "Div"]
            if by and number[0] is not None and any(_is_same(one, number[0]) or "accum" in _words(one) for one in by):
                sick.append(moment)
        for moment in own(source, sick):
            yield found(RULE, "the loss is divided here, and by accelerator.backward() again", where=at(moment))


def _is_same(one: Value, other: Value) -> bool:
    return one is other or (one.kind == "const" == other.kind and one.const == other.const)


def _words(value: Value) -> str:
    return f"{value.name} {value.alias}".lower()


SICK = """
from accelerate import Accelerator
accelerator = Accelerator(gradient_accumulation_steps=4)
for x, y in loader:
    with accelerator.accumulate(model):
        loss = model(x, y) / 4
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
"""
RULE = Rule(
    code="COD138",
    name="source_divided_twice",
    severity="error",
    summary="the loss is divided by the accumulation twice",
    why="Accelerator.backward() divides by gradient_accumulation_steps: the gradient is that many times too small.",
    fix="Give accelerator.backward() the loss as it is.",
    source="accelerate 1.15 documentation, Gradient accumulation; Accelerator.backward",
    check=check,
    trips=lambda: sketch(SICK),
    passes=lambda: sketch(SICK.replace(" / 4", "")),
    wrong_when="the loss is divided by the same number for another reason",
)
