"""COD137: the best weights are kept without a copy, and loaded again at the end."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    optimizer_steps,
    same,
)
from torchstone.parts.source.value import alternatives
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per model.load_state_dict(kept), where kept is state_dict() itself, taken in a loop that trains."""
    for play in source.plays:
        taken = {id(moment.value): moment for moment in play.calls(".state_dict")}
        last = max((moment.index for moment, _ in optimizer_steps(play)), default=-1)
        loops = {loop for moment, _ in optimizer_steps(play) for loop in moment.loops}
        sick = {}
        for moment in play.calls(".load_state_dict"):
            for one in alternatives(moment.value.given("state_dict", 0)):
                kept = taken.get(id(one))
                if kept is not None and kept.index < moment.index and same(one.receiver, moment.value.receiver):
                    is_in_training = any(loop in loops for loop in kept.loops) and bool(kept.guards)
                    if is_in_training and moment.index > last and not any(loop in loops for loop in moment.loops):
                        sick[moment] = kept
        for moment in own(source, sick):
            yield found(RULE, f"the weights kept on line {sick[moment].line} are the model's own, and were trained on",
                        where=at(moment), evidence={"kept_line": sick[moment].line, "kept_path": sick[moment].path})


KEPT = TRAINING.replace("    model.eval()\n", "    model.eval()\n"
                        "    if total < best:\n        kept = model.state_dict()\n")
KEPT += "model.load_state_dict(kept)\n"
RULE = Rule(
    code="COD137",
    name="source_best_weights_not_copied",
    severity="error",
    summary="state_dict() is kept without a copy",
    why="state_dict() holds the very tensors that go on being trained: the last weights are loaded, not the best.",
    fix="Keep copy.deepcopy(model.state_dict()).",
    source="torch 2.14 documentation, Saving and loading models: best_model_state must be serialized or deepcopied",
    check=check,
    trips=lambda: changed(KEPT),
    passes=lambda: changed(KEPT, ("model.state_dict()", "copy.deepcopy(model.state_dict())")),
    wrong_when="the optimizer makes new tensors instead of changing those of the model",
)
