"""COD309: a score is the mean of the means of batches of different size."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.loaders import is_off, loaders_in
from torchstone.parts.source.moment import Loop, Moment
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    batches_of,
    evaluation_loops,
    loss_of,
)
from torchstone.parts.source.value import Value, peel
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per file where losses of batches are summed and divided by the number of batches in evaluation."""
    for play in source.plays:
        loops = evaluation_loops(play)
        sick = []
        for moment in play.calls(".item"):
            inner = peel(moment.value.receiver)
            is_mean = len(inner) == 1 and _is_mean(inner[0])
            loop = next((loop for loop in loops if loop in moment.loops), None)
            if loop is None or not is_mean:
                continue
            if _is_summed_whole(source, moment) and not any(
                    not is_off(loader, "drop_last") or loader.given("batch_size", 1) is None
                    for loader in loaders_in(batches_of(loop))) and _is_divided(source, loop):
                sick.append(moment)
        for moment in own(source, sick):
            yield found(RULE, "means of batches are added up and divided by the number of batches", where=at(moment))
            return


def _is_mean(value: Value) -> bool:
    """Whether a value is a mean over a batch: a loss of torch by its default, or .mean() of all numbers."""
    loss = loss_of(value)
    if loss is None:
        return value.is_call(".mean", "torch.mean") and not value.keywords and len(value.args) < 2
    reduction = loss[1].given("reduction")
    return reduction is None or reduction.is_const("mean")


def _is_summed_whole(source: Source, moment: Moment) -> bool:
    """Whether the very number is added to a sum: total += loss.item()."""
    return any(isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and node.value is moment.value.node
               for node in ast.walk(source.tree))


def _is_divided(source: Source, loop: Loop) -> bool:
    """Whether something is divided by the length of the loader that a loop goes over."""
    over = loop.node.iter if isinstance(loop.node, ast.For) else None
    while isinstance(over, ast.Call) and over.args:
        over = over.args[0]
    text = f"len({ast.unparse(over)})" if over is not None else ""
    return any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and ast.unparse(node.right) == text
               for node in ast.walk(source.tree))


RULE = Rule(
    code="COD309",
    name="source_mean_of_batch_means",
    severity="advice",
    summary="the mean of batch means stands for the mean over rows",
    why="The last batch is smaller and counts as much as the others: the score depends on the batch size.",
    fix="Add loss.item() * len(batch) and divide by the number of rows.",
    source="arithmetic: a mean of means is the mean only where all groups have one size",
    check=check,
    trips=lambda: changed(TRAINING, ("DataLoader(val_set)", "DataLoader(val_set, batch_size=7)"),
                          ("mse_loss(model(x), y).item()\n", "mse_loss(model(x), y).item()\n"
                           "    print(total / len(val_loader))\n")),
    passes=lambda: changed(TRAINING, ("DataLoader(val_set)", "DataLoader(val_set, batch_size=7)"),
                           ("mse_loss(model(x), y).item()\n", "mse_loss(model(x), y).item() * len(x)\n"
                            "    print(total / len(val_set))\n")),
    wrong_when="all batches have one size",
)
