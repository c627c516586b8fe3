"""COD139: a frozen part keeps its batch normalisation in train mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.calls import is_model
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    training_loops,
)
from torchstone.parts.source.value import Value, alternatives
from torchstone.parts.source.wiring import (
    NORMS,
    has_engine,
    holds,
    layer_names,
)
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per part of a model, or model, frozen by requires_grad alone, whose batch norms then train on."""
    if has_engine(source.module.imported):
        return
    for play in source.plays:
        trains = [moment for moment, is_train in mode_changes_of_all(play) if is_train]
        if play.is_cut or not training_loops(play) or not trains:
            continue
        sick = {moment: part for moment, part in _frozen(play) if layer_names(part)[0] & set(NORMS)
                and any(holds(one.value.receiver, part) and one.index > moment.index for one in trains)
                and not _is_set_back(play, part, moment)}
        for moment in own(source, sick):
            yield found(RULE, "a part is frozen, and its batch normalisation stays in train mode", where=at(moment))


def mode_changes_of_all(play: Play) -> list[tuple[Moment, bool]]:
    """The calls that set the mode of anything: True where to train mode."""
    return [(one, one.value.name == "train" and not any(arg.is_const(False) for arg in one.value.args))
            for one in play.calls(".train", ".eval")]


def _frozen(play: Play) -> list[tuple[Moment, Value]]:
    """Where a part is frozen whole: in a loop over part.parameters(), or by part.requires_grad_(False)."""
    found_: list[tuple[Moment, Value]] = []
    for moment in play.moments:
        if moment.what == "call" and moment.is_call(".requires_grad_") and any(
                one.is_const(False) for one in moment.value.args):
            owner = moment.value.receiver
        elif moment.what == "assign" and moment.target is not None and moment.target.kind == "attr" \
                and moment.target.name == "requires_grad" and moment.value.is_const(False):
            owner = moment.target.receiver
        else:
            continue
        for one in alternatives(owner):
            over = one.receiver if one.kind == "each" else None
            if over is not None and over.is_call(".parameters") and not _is_filtered(moment) and over.receiver:
                found_.append((moment, over.receiver))
            elif one.kind == "call" and is_model(one):
                found_.append((moment, one))
    return found_


def _is_filtered(moment: Moment) -> bool:
    """Whether only some parameters of the loop are frozen."""
    inner = moment.loops[-1].node if moment.loops else None
    return any(inner is not None and any(node is guard.node for node in ast.walk(inner)) for guard in moment.guards)


def _is_set_back(play: Play, part: Value, frozen: Moment) -> bool:
    """Whether the part, or single layers in a loop, are put in eval mode; or it learns again later."""
    for moment in play.calls(".eval", ".train"):
        if moment.value.name == "train" and not any(arg.is_const(False) for arg in moment.value.args):
            continue
        owners = alternatives(moment.value.receiver)
        if any(one.kind in ("each", "item", "param") for one in owners):
            return True
        if any(holds(part, one) for one in owners):
            return True
    return any(moment.index > frozen.index for moment in play.moments
               if moment.what == "assign" and moment.target is not None and moment.target.name == "requires_grad"
               and not moment.value.is_const(False))


FROZEN = TRAINING.replace(
    "model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.1), nn.Linear(8, 1))",
    "body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8))\nmodel = nn.Sequential(body, nn.Linear(8, 1))\n"
    "for p in body.parameters():\n    p.requires_grad = False")
RULE = Rule(
    code="COD139",
    name="source_frozen_norm_in_train_mode",
    severity="warning",
    summary="a frozen part with batch normalisation in train mode",
    why="requires_grad=False freezes weights only: running means and variances still move towards the new data.",
    fix="After each model.train() call eval() on the frozen part.",
    source="torch 2.14 documentation, BatchNorm: track_running_stats; pytorch issue 86590",
    check=check,
    trips=lambda: changed(FROZEN),
    passes=lambda: changed(FROZEN, ("    model.train()\n", "    model.train()\n    body.eval()\n")),
    wrong_when="the statistics are meant to follow the new data",
)
