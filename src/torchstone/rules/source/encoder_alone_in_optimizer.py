"""COD151: configure_optimizers() gives some parts of a LightningModule to no optimizer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, made_alone, sketch
from torchstone.parts.source.value import Value
from torchstone.parts.source.wiring import (
    layer_names,
)
from torchstone.rules._source import at_node

WEIGHTED = ("Linear", "Conv", "LSTM", "GRU", "RNN", "Embedding", "Transformer")


def check(source: Source) -> Iterator[Finding]:
    """One finding per part with weights that forward() calls and no optimizer of configure_optimizers() is given."""
    for definition in source.classes:
        method = definition.methods.get("configure_optimizers")
        names = {base.rpartition(".")[2] for base in definition.base_names()}
        if method is None or "LightningModule" not in names or "forward" not in definition.methods:
            continue
        given = {node.func.value for node in ast.walk(method.node) if isinstance(node, ast.Call)
                 and isinstance(node.func, ast.Attribute) and node.func.attr in ("parameters", "named_parameters")}
        parts = {node.attr for node in given if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"}
        if not parts or len(parts) < len(given):
            continue
        instance, _ = made_alone(source, definition)
        called = {node.func.attr for node in ast.walk(definition.methods["forward"].node) if isinstance(node, ast.Call)
                  and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "self"}
        left = sorted(name for name in called - parts if _has_weights(instance.fields.get(name)))
        if left and "requires_grad" not in source.module.text:
            yield found(RULE, f"self.{left[0]} is called in forward() and in no optimizer",
                        where=at_node(source, method.node), evidence={"parts": left})


def _has_weights(value: Value | None) -> bool:
    names, _ = layer_names(value)
    return any(word in name for name in names for word in WEIGHTED)


SICK = """
import torch
import lightning as L
from torch import nn
class Coder(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(8, 2), nn.Linear(2, 8)
    def forward(self, x):
        return self.decoder(self.encoder(x))
    def training_step(self, batch, index):
        return nn.functional.mse_loss(self(batch), batch)
    def configure_optimizers(self):
        return torch.optim.Adam(self.encoder.parameters())
"""
RULE = Rule(
    code="COD151",
    name="source_part_in_no_optimizer",
    severity="error",
    summary="a part of a LightningModule is in no optimizer",
    why="The loss goes through it and nothing steps it: it stays as it was first drawn.",
    fix="Give the optimizer self.parameters(), or the parts that are missing.",
    source="Lightning 2.6 documentation, configure_optimizers",
    check=check,
    trips=lambda: sketch(SICK),
    passes=lambda: sketch(SICK.replace("self.encoder.parameters()", "self.parameters()")),
    wrong_when="that part is to stay as it is",
)
