"""COD108: after the first evaluation the model is trained in eval mode."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Loop, Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import innermost, is_from_scratch, training_loops
from torchstone.parts.source.value import Value, alternatives
from torchstone.parts.source.wiring import acts_by_mode, mode_changes, models_of, trained_calls
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per eval() in a loop over epochs that trains the model and never sets it back."""
    for play in source.plays:
        if play.is_cut:
            continue
        sick: dict[Moment, Value] = {}
        for moment, model in trained_calls(play, training_loops(play)):
            for loop in moment.loops:
                stays = _stays_in_eval(play, loop, moment, model)
                if stays is not None:
                    sick.setdefault(stays, model)
        for moment in own(source, sick):
            is_sure = acts_by_mode(sick[moment])
            yield found(RULE, "eval() in the loop over epochs, and nothing there calls train() again",
                        where=at(moment), evidence={"layers_known": bool(is_sure)},
                        severity="error" if is_sure else "warning")


def _sets_own_mode(model: Value | None) -> bool:
    """Whether the class of a model has a train() of its own, which is followed and not seen as a call."""
    return any(one.definition is not None and one.definition.method("train") is not None
               for one in alternatives(model))


def _stays_in_eval(play: Play, loop: Loop, trained: Moment, model: Value) -> Moment | None:
    """The eval() of a model in a loop, outside its training loop, before an evaluation, with no train() in the loop."""
    if acts_by_mode(model) is False or _is_made_in(play, loop, model):
        return None
    changes = [(one, mode) for one, mode in mode_changes(play, model) if loop in one.loops]
    if any(mode is not False for _, mode in changes) or any(
        loop in one.loops and one.value.receiver is not None and one.value.receiver.kind in ("param", "each", "unknown")
        for one in play.calls(".train")
    ):
        return None
    inner = innermost(trained)
    evals = [one for one, _ in changes if inner is not loop and inner not in one.loops
             and not _sets_own_mode(one.value.receiver)]
    evaluated = [one.index for one, _ in models_of(play) if loop in one.loops and inner not in one.loops]
    return next((one for one in evals if any(index > one.index for index in evaluated)), None)


def _is_made_in(play: Play, loop: Loop, model: Value) -> bool:
    return is_from_scratch(model) and any(one.value is model and loop in one.loops for one in play.calls())


RULE = Rule(
    code="COD108",
    name="source_no_return_to_train",
    severity="error",
    summary="no return to train mode after evaluation",
    why="From the second epoch on, dropout is off and batch normalisation uses old statistics while the model trains.",
    fix="Call model.train() at the start of each epoch, inside the loop.",
    source="torch 2.14 documentation, Module.eval and Module.train",
    check=check,
    trips=lambda: changed(TRAINING, ("for epoch in range(epochs):\n    model.train()\n",
                                     "model.train()\nfor epoch in range(epochs):\n")),
    passes=lambda: changed(TRAINING),
    wrong_when="the model is to be trained in eval mode, or an unseen function sets the mode",
)
