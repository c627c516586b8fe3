"""COD129: functional dropout in a module is not told the mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.value import Value
from torchstone.rules._source import asks_for_mode, at, in_module, insert_argument, own

FUNCTIONS = tuple(f"torch.nn.functional.{name}" for name in (
    "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"))


def check(source: Source) -> Iterator[Finding]:
    """One finding per functional dropout in a module's method without `training`, which is True by default."""
    for _, moment in source.moments(*FUNCTIONS):
        value = moment.value
        is_open = "**" in value.keywords or "*" in value.keywords
        if is_open or value.given("training", 2) is not None or not in_module(moment) or asks_for_mode(moment):
            continue
        # alpha_dropout alone is off by default
        if value.name.endswith("alpha_dropout") or _is_of_none(value):
            continue
        for one in own(source, [moment]):
            yield found(RULE, f"{value.name.rpartition('.')[2]} in a module without training=self.training",
                        where=at(one), evidence=_mend(one))


def _is_of_none(value: Value) -> bool:
    """Whether a dropout is told to drop nothing."""
    rate = value.given("p", 1)
    return rate is not None and rate.is_const(0, 0.0)


def _mend(moment: Moment) -> dict[str, object]:
    """The edit, where the method has a self and the call is given something."""
    node, function = moment.value.node, moment.functions[-1].node
    has_self = not isinstance(function, ast.ClassDef) and any(one.arg == "self" for one in function.args.args[:1])
    if isinstance(node, ast.Call) and has_self:
        return {"edits": [insert_argument(node, "training=self.training")]}
    return {}


SICK = """
from torch import nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 1)
    def forward(self, x):
        return self.head(F.dropout(x, p=0.5))
"""
RULE = Rule(
    code="COD129",
    name="source_dropout_without_training",
    severity="error",
    summary="functional dropout that drops in evaluation too",
    why="Its training argument is True by default and knows nothing of model.eval().",
    fix="Give it training=self.training, or use nn.Dropout.",
    source="torch 2.14 documentation, nn.functional.dropout: training=True by default",
    check=check,
    trips=lambda: sketch(SICK),
    passes=lambda: sketch(SICK.replace("p=0.5", "p=0.5, training=self.training")),
    wrong_when="units are to be dropped in evaluation (Monte Carlo dropout)",
)
