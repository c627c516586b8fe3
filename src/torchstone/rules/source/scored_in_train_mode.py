"""COD145: a model with dropout is scored without a loader, and never put in eval mode."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Loop, Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    backwards,
    evaluation_loops,
    is_grad_off,
    optimizer_steps,
    optimizers,
    same,
    training_loops,
)
from torchstone.parts.source.value import Value
from torchstone.parts.source.wiring import (
    has_engine,
    layer_names,
    models_of,
    trained_calls,
)
from torchstone.rules._sketches import changed
from torchstone.rules._source import at, own

DROPS = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d")


def check(source: Source) -> Iterator[Finding]:
    """One finding per call without gradients, beside the training loop, of a trained model that never sees eval()."""
    if has_engine(source.module.imported):
        return
    for play in source.plays:
        loops = training_loops(play)
        trained = [model for _, model in trained_calls(play, loops)]
        is_of_several = len(optimizers(play)) > 1
        if play.is_cut or not trained or is_of_several or play.calls(".eval") or "m.eval()" in source.module.text:
            continue
        known = set(evaluation_loops(play))
        sick: dict[int, Moment] = {}
        for moment, model in models_of(play):
            is_scored = is_grad_off(moment) and not _is_in_step(play, moment, loops) and not any(
                loop in known for loop in moment.loops)
            if is_scored and any(same(model, one) for one in trained) and _drops(model):
                sick.setdefault(id(model), moment)
        for moment in own(source, sick.values()):
            if not any(one.value.name == "train" and any(arg.is_const(False) for arg in one.value.args)
                       for one in play.calls(".train")):
                yield found(RULE, "the model is scored in train mode: nothing calls eval()", where=at(moment))


def _is_in_step(play: Play, moment: Moment, loops: list[Loop]) -> bool:
    """Whether a moment belongs to the training's pass itself: its result, or what is beside it, comes before a step."""
    inner = [loop for loop in loops if loop in moment.loops]
    if not inner:
        return False
    own_loops = moment.loops[moment.loops.index(inner[-1]) + 1:]
    if any(not one.is_comprehension and not any(one in each.loops for each, _ in backwards(play)) for one in own_loops):
        return False
    later = [step.index for step, _ in optimizer_steps(play) if inner[-1] in step.loops]
    return moment.index < max(later)


def _drops(model: Value) -> bool:
    return bool(layer_names(model)[0] & set(DROPS))


SICK = """
import torch
from torch import nn
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(100):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
with torch.no_grad():
    print(nn.functional.mse_loss(model(x_val), y_val))
"""
RULE = Rule(
    code="COD145",
    name="source_scored_in_train_mode",
    severity="error",
    summary="a model with dropout or batch normalisation is scored in train mode",
    why="Dropout goes on and batch norms use the batch: scores are too low, and change from pass to pass.",
    fix="Call model.eval() before scoring and model.train() after it.",
    source="torch 2.14 documentation, Module.eval; github.com/pliang279/MultiBench issue 26",
    check=check,
    trips=lambda: changed(SICK),
    passes=lambda: changed(SICK, ("with torch.no_grad()", "model.eval()\nwith torch.no_grad()")),
    wrong_when="dropout is wanted in scoring, as for a measure of doubt",
)
