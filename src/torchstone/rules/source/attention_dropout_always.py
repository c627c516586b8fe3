"""COD130: scaled_dot_product_attention drops in evaluation too."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.moment import Moment
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.value import Value, alternatives, origins
from torchstone.rules._source import asks_for_mode, at, in_module, own


def check(source: Source) -> Iterator[Finding]:
    """One finding per attention in a module with a dropout_p that is above 0 whatever the mode."""
    for _, moment in source.moments("torch.nn.functional.scaled_dot_product_attention"):
        rate = moment.value.given("dropout_p", 4)
        if rate is None or not in_module(moment) or asks_for_mode(moment) or not _is_always_on(moment, rate):
            continue
        for one in own(source, [moment]):
            yield found(RULE, "dropout_p of scaled_dot_product_attention does not depend on self.training",
                        where=at(one))


def _is_always_on(moment: Moment, rate: Value) -> bool:
    """Whether the rate is a number above 0, or a setting of the module that is no layer, and no mode is asked for."""
    node = moment.value.node
    given = next((ast.unparse(one.value) for one in node.keywords if one.arg == "dropout_p"), "") \
        if isinstance(node, ast.Call) else ""
    texts = [given, *(ast.unparse(one.node) for one in origins(rate) if isinstance(one.node, ast.expr))]
    if any("training" in text for text in texts):
        return False
    return all(_is_number_above_zero(one) for one in alternatives(rate))


def _is_number_above_zero(value: Value) -> bool:
    return value.kind == "const" and isinstance(value.const, float) and value.const > 0


SICK = """
from torch import nn
import torch.nn.functional as F
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = 0.1
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, dropout_p=self.drop)
"""
RULE = Rule(
    code="COD130",
    name="source_attention_dropout_always",
    severity="error",
    summary="attention dropout in evaluation too",
    why="The function applies dropout_p always; it knows nothing of model.eval().",
    fix="Give it dropout_p=self.drop if self.training else 0.0.",
    source="torch 2.14 documentation, scaled_dot_product_attention: always applies dropout according to dropout_p",
    check=check,
    trips=lambda: sketch(SICK),
    passes=lambda: sketch(SICK.replace("dropout_p=self.drop", "dropout_p=self.drop if self.training else 0.0")),
    wrong_when="the setting is changed elsewhere when the mode changes",
)
