"""COD407: a run is taken up without the optimizer's state that its checkpoint holds."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    is_optimizer,
    same,
    training_loops,
)
from torchstone.parts.source.value import origins
from torchstone.parts.source.wiring import (
    trained_calls,
)
from torchstone.rules._sketches import changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per model that is loaded and trained on, where an optimizer is saved and never loaded."""
    for play in source.plays:
        loads = play.calls(".load_state_dict")
        if play.is_cut or any(is_optimizer(one.value.receiver) for one in loads) or not _saves_optimizer(play):
            continue
        sick = []
        for moment in loads:
            is_read = any(one.is_call("torch.load") for one in origins(moment.value.given("state_dict", 0)))
            is_trained = any(call.index > moment.index and same(model, moment.value.receiver)
                             for call, model in trained_calls(play, training_loops(play)))
            if is_read and is_trained:
                sick.append(moment)
        for moment in own(source, sick):
            yield found(RULE, "the model is loaded and trained on, and its optimizer starts anew", where=at(moment))


def _saves_optimizer(play: Play) -> bool:
    return any(is_optimizer(one.value.receiver) for one in play.calls(".state_dict"))


SICK = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters())
checkpoint = torch.load("run.pt", weights_only=True)
model.load_state_dict(checkpoint["model"])
for epoch in range(9):
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "run.pt")
"""
RULE = Rule(
    code="COD407",
    name="source_optimizer_not_resumed",
    severity="warning",
    summary="the optimizer's state is saved and never loaded",
    why="Moments start from nothing: the first steps after the pause are larger, and the curve has a kink.",
    fix="Call optimizer.load_state_dict(...) beside the model's, and that of the scheduler.",
    source="torch 2.14 documentation, Saving and loading a general checkpoint",
    check=check,
    trips=lambda: changed(SICK),
    passes=lambda: changed(SICK, ("for epoch", 'optimizer.load_state_dict(checkpoint["optimizer"])\nfor epoch')),
    wrong_when="the loaded weights are the start of another training",
)
