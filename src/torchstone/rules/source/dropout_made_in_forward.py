"""COD128: a dropout layer is made in forward(), where it drops in eval mode too."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment, Play
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import asks_for_mode, at, in_forward, own

LAYERS = tuple(f"torch.nn.{name}" for name in ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout"))


def check(source: Source) -> Iterator[Finding]:
    """One finding per dropout layer made in a module's forward() with no regard to the module's mode."""
    for play in source.plays:
        sick = [moment for moment in play.calls(*LAYERS) if in_forward(moment) and not _minds_mode(play, moment)]
        for moment in own(source, sick):
            yield found(RULE, "forward() makes a dropout layer: it is in train mode in evaluation too",
                        where=at(moment))


def _minds_mode(play: Play, moment: Moment) -> bool:
    node = moment.value.node
    is_told = isinstance(node, ast.AST) and "training" in ast.unparse(node)
    is_set = any(one.value.receiver is moment.value for one in play.calls(".train", ".eval"))
    is_stored = any(one.what == "assign" and one.value is moment.value for one in play.moments)
    return is_told or is_set or is_stored or asks_for_mode(moment)


SICK = """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head, self.dropout = nn.Linear(4, 1), nn.Dropout(0.5)
    def forward(self, x):
        return self.head(nn.Dropout(0.5)(x))
"""
RULE = Rule(
    code="COD128",
    name="source_dropout_made_in_forward",
    severity="error",
    summary="a dropout layer is made in forward",
    why="A new layer is in train mode, whatever mode the model is in: evaluation drops units too.",
    fix="Make it in __init__, or call nn.functional.dropout(x, p, training=self.training).",
    source="torch 2.14 documentation, nn.Dropout and Module.train",
    check=check,
    trips=lambda: sketch(SICK),
    passes=lambda: sketch(SICK.replace("nn.Dropout(0.5)(x)", "self.dropout(x)")),
    wrong_when="units are to be dropped in evaluation (Monte Carlo dropout)",
)
