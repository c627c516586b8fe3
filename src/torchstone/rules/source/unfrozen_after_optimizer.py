"""COD123: parameters are unfrozen after an optimizer was made for the unfrozen ones."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.training import optimizers, same
from torchstone.parts.source.value import Value, origins
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per unfreezing that comes after the only optimizer, which was given what required gradients then."""
    for play in source.plays:
        made = [one for one in play.calls() if any(one.value is each for each in optimizers(play))]
        if len(made) != 1 or play.is_cut or not _is_filtered(play, made[0]):
            continue
        if any(same(one.value.receiver, made[0].value) for one in play.calls(".add_param_group")):
            continue
        sick = [one for one in play.moments if one.index > made[0].index and _unfreezes(one)]
        for moment in own(source, sick):
            what = f"parameters are unfrozen after the optimizer took only the unfrozen ones (line {made[0].line})"
            yield found(RULE, what, where=at(moment), evidence={"optimizer_line": made[0].line})


def _is_filtered(play: Play, made: Moment) -> bool:
    """Whether the optimizer is given the parameters that require gradients at that time."""
    given = made.value.given("params", 0)
    texts = [one for one in origins(given) if one.kind in ("sequence", "call") and one.node is not None]
    return any(_asks_for_gradients(one) for one in texts)


def _asks_for_gradients(value: Value) -> bool:
    import ast  # only where an optimizer stands

    node = value.node
    if value.kind == "sequence" and isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return any("requires_grad" in ast.unparse(test) for one in node.generators for test in one.ifs)
    return value.is_call("filter") and isinstance(node, ast.Call) and "requires_grad" in ast.unparse(node.args[0])


def _unfreezes(moment: Moment) -> bool:
    if moment.is_call(".requires_grad_"):
        mode = moment.value.given("requires_grad", 0)
        is_of_model = moment.value.receiver is not None and moment.value.receiver.kind != "call"
        return is_of_model and (mode is None or mode.is_const(True))
    target = moment.target
    is_set = moment.what == "assign" and target is not None and target.kind == "attr" and target.name == "requires_grad"
    is_parameter = target is not None and target.receiver is not None and target.receiver.kind in ("each", "item")
    return is_set and is_parameter and moment.value.is_const(True)


TWIN = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))
model[0].requires_grad_(False)
optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.1)
for epoch in range(9):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    if epoch == 4:
        for parameter in model[0].parameters():
            parameter.requires_grad = True
        optimizer.add_param_group({"params": model[0].parameters()})
"""
RULE = Rule(
    code="COD123",
    name="source_unfrozen_after_optimizer",
    severity="error",
    summary="parameters are unfrozen that no optimizer holds",
    why="They get gradients and are never stepped.",
    fix="Call optimizer.add_param_group for them, or give the optimizer all parameters from the start.",
    source="torch 2.14 documentation, Optimizer.add_param_group",
    check=check,
    trips=lambda: sketch(TWIN.replace('        optimizer.add_param_group({"params": model[0].parameters()})\n', "")),
    passes=lambda: sketch(TWIN),
    wrong_when="another optimizer takes them where the code was not followed",
)
