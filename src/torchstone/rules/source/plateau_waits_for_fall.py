"""COD131: a plateau schedule waits for a score to fall that is better when it rises."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source
from torchstone.parts.source.training import (
    scheduler_steps,
)
from torchstone.parts.source.value import Value, alternatives
from torchstone.rules._sketches import TRAINING, changed
from torchstone.rules._source import at, own

RISES = re.compile(
    r"(^|_)(acc|accuracy|iou|miou|r2|auc|auroc|f1|dice|map|bleu|precision|recall|psnr|ssim)(_|$|\d)")
FALLS = re.compile(r"loss|error|err|rmse|mae|mse|perplexity|ppl|wer|cer|fid|neg")


def check(source: Source) -> Iterator[Finding]:
    """One finding per step of a ReduceLROnPlateau in its mode "min" with a value called after a rising score."""
    for play in source.plays:
        sick = {}
        for moment, scheduler in scheduler_steps(play):
            made = [one for one in alternatives(scheduler) if one.kind == "call"]
            given = moment.value.args[0] if moment.value.args else None
            node = moment.value.node
            name = _name(node.args[0]) if isinstance(node, ast.Call) and node.args else ""
            is_min = bool(made) and all(one.name.endswith(".ReduceLROnPlateau") and _is_min(one) for one in made)
            if is_min and given is not None and RISES.search(name.lower()) and not FALLS.search(name.lower()):
                sick[moment] = name
        for moment in own(source, sick):
            yield found(RULE, f"ReduceLROnPlateau is given {sick[moment]} and waits for it to fall", where=at(moment))


def _is_min(made: Value) -> bool:
    mode = made.given("mode", 1)
    return "**" not in made.keywords and (mode is None or mode.is_const("min"))


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


RULE = Rule(
    code="COD131",
    name="source_plateau_waits_for_fall",
    severity="warning",
    summary="ReduceLROnPlateau in mode 'min' is given a score that should rise",
    why="The rate is lowered while the score gets better, and kept while it gets worse.",
    fix="Make the schedule with mode='max'.",
    source="torch 2.14 documentation, ReduceLROnPlateau: mode",
    check=check,
    trips=lambda: changed(TRAINING, ("CosineAnnealingLR(optimizer, T_max=epochs * len(train_loader))",
                                     "ReduceLROnPlateau(optimizer)"),
                          ("        scheduler.step()\n", ""), ("    model.eval()\n", "    model.eval()\n"
                                                                 "    scheduler.step(val_acc)\n")),
    passes=lambda: changed(TRAINING, ("CosineAnnealingLR(optimizer, T_max=epochs * len(train_loader))",
                                      "ReduceLROnPlateau(optimizer, mode='max')"),
                           ("        scheduler.step()\n", ""), ("    model.eval()\n", "    model.eval()\n"
                                                                  "    scheduler.step(val_acc)\n")),
    wrong_when="the value falls when the model gets better, whatever its name",
)
