"""COD107: a model that is trained is evaluated in train mode."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.value import Value
from torchstone.parts.source.wiring import acts_by_mode, mode_changes, validations
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per loop of evaluation whose model was last set to train mode, or never to eval mode."""
    for play in source.plays:
        if play.is_cut:
            continue
        sick = {moment: model for moment, model in validations(play) if _is_in_train_mode(play, moment, model)}
        for moment in own(source, sick):
            is_sure = acts_by_mode(sick[moment])
            yield found(RULE, "the model is evaluated in train mode: no eval() since its training", where=at(moment),
                        evidence={"layers_known": bool(is_sure)}, severity="error" if is_sure else "warning")


def _is_in_train_mode(play: Play, moment: Moment, model: Value) -> bool:
    if acts_by_mode(model) is False:
        return False
    changes = mode_changes(play, model)
    before = [mode for change, mode in changes if change.index < moment.index]
    after = [mode for change, mode in changes if change.index > moment.index]
    if before:
        return before[-1] is True and not _is_set_elsewhere(play, moment)
    return not any(mode is not True for mode in after) and not _is_set_elsewhere(play, moment)


def _is_set_elsewhere(play: Play, moment: Moment) -> bool:
    """Whether a mode may be set by what is not seen: eval() of something unknown, or a context for it."""
    unknown = ("param", "attr", "unknown", "each", "item")
    is_called = any(one.value.receiver is not None and one.value.receiver.kind in unknown
                    for one in play.calls(".eval") if one.index < moment.index)
    return is_called or any("eval" in one.name.lower() for one in moment.withs)


RULE = Rule(
    code="COD107",
    name="source_evaluation_without_eval",
    severity="error",
    summary="evaluation in train mode",
    why="Dropout drops units and batch normalisation uses (and moves) the statistics of the evaluated batch.",
    fix="Call model.eval() before evaluation, and model.train() before training goes on.",
    source="torch 2.14 documentation, Module.eval; Autograd mechanics, evaluation mode",
    check=check,
    trips=lambda: changed(TRAINING, ("    model.eval()\n", "")),
    passes=lambda: changed(TRAINING),
    wrong_when="units are dropped on purpose (Monte Carlo dropout), or an unseen function sets the mode",
)
