"""COD406: the checkpoints of a training hold the model alone."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    is_optimizer,
    optimizer_steps,
)
from torchstone.parts.source.value import alternatives
from torchstone.parts.source.wiring import (
    has_engine,
)
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per file whose training loops save the weights of a model and never the optimizer's state."""
    if has_engine(source.module.imported):
        return
    text = source.module.text
    if ".state_dict()" not in text or any(word in text for word in ("save_checkpoint", "dcp.save", "save_state")):
        return
    for play in source.plays:
        steps = {loop for moment, _ in optimizer_steps(play) for loop in moment.loops}
        saved = [one.value.receiver for one in play.calls(".state_dict")]
        if play.is_cut or any(is_optimizer(one) for one in saved):
            continue
        sick = [moment for moment in play.calls("torch.save") if any(loop in steps for loop in moment.loops)
                and any(one.is_call(".state_dict") for one in alternatives(moment.value.given("obj", 0)))]
        for moment in own(source, sick):
            yield found(RULE, "the training saves its weights and not the optimizer's state", where=at(moment))
            return


RULE = Rule(
    code="COD406",
    name="source_model_alone_saved",
    severity="advice",
    summary="checkpoints without the optimizer",
    why="A run that is taken up again starts with empty moments, and at the first rate of its schedule.",
    fix="Save model, optimizer, scheduler, epoch and the states of the random generators, beside the best weights.",
    source="torch 2.14 documentation, Saving and loading a general checkpoint; the_well issue 77, yolov3 issue 902",
    check=check,
    trips=lambda: changed(TRAINING, ("    model.eval()\n", "    torch.save(model.state_dict(), 'a.pt')\n"
                                     "    model.eval()\n")),
    passes=lambda: changed(TRAINING, ("    model.eval()\n", "    torch.save({'model': model.state_dict(), 'optimizer': "
                                      "optimizer.state_dict()}, 'a.pt')\n    model.eval()\n")),
    wrong_when="runs are short and never taken up again",
)
