"""COD140: everything but the normalisation layers is frozen."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.calls import is_model
from torchstone.parts.source.moment import Guard, Moment, Play
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    training_loops,
)
from torchstone.parts.source.wiring import (
    has_engine,
)
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per loop that freezes all layers that are no normalisation, where nothing is freed afterwards."""
    for play in source.plays:
        if not training_loops(play):
            continue
        sick = [moment for moment in play.moments if moment.what == "assign" and moment.target is not None
                and moment.target.kind == "attr" and moment.target.name == "requires_grad"
                and moment.value.is_const(False) and any(_spares_norms(guard) for guard in moment.guards)]
        for moment in own(source, sick):
            if not _is_freed(play, moment) and not has_engine(source.module.imported):
                yield found(RULE, "everything but the normalisation layers is frozen", where=at(moment))


def _spares_norms(guard: Guard) -> bool:
    """Whether a branch is `if not isinstance(module, BatchNorm...)`, or the else of the same without not."""
    test = getattr(guard.node, "test", None)
    is_not = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    asked = test.operand if isinstance(test, ast.UnaryOp) else test
    if not isinstance(asked, ast.Call) or ast.unparse(asked.func) != "isinstance" or len(asked.args) != 2:
        return False
    kinds = asked.args[1].elts if isinstance(asked.args[1], ast.Tuple) else [asked.args[1]]
    return is_not == (guard.arm == 0) and all("Norm" in ast.unparse(kind) for kind in kinds)


def _is_freed(play: Play, moment: Moment) -> bool:
    """Whether anything is set to learn, or a layer put in place, after the freezing."""
    later = [one for one in play.moments if one.index > moment.index]
    return any(one.what == "assign" and one.target is not None and (
        (one.target.name == "requires_grad" and not one.value.is_const(False))
        or (one.value.kind == "call" and is_model(one.value))) for one in later) or any(
        one.is_call(".requires_grad_") and not any(arg.is_const(False) for arg in one.value.args) for one in later)


RULE = Rule(
    code="COD140",
    name="source_only_norms_train",
    severity="warning",
    summary="only normalisation layers are trained",
    why="Gains and offsets of normalisation are a few numbers per layer: the head itself learns nothing.",
    fix="Free the head too, or freeze the body by name.",
    source="discuss.pytorch.org/t/84911; TrainCheck (OSDI 2025), case pytorch-forum-84911",
    check=check,
    trips=lambda: changed(TRAINING, ("optimizer = ", "for module in model.modules():\n"
                          "    if not isinstance(module, nn.BatchNorm1d):\n"
                          "        for p in module.parameters(recurse=False):\n"
                          "            p.requires_grad = False\noptimizer = ")),
    passes=lambda: changed(TRAINING, ("optimizer = ", "for module in model.modules():\n"
                           "    if isinstance(module, nn.BatchNorm1d):\n"
                           "        for p in module.parameters(recurse=False):\n"
                           "            p.requires_grad = False\noptimizer = ")),
    wrong_when="only the normalisation is to be tuned, as in test-time adaptation",
)
