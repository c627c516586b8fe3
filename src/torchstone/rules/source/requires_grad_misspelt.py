"""COD121: requires_grad is misspelt."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.read import Source, sketch
from torchstone.rules._source import at_node, edit

WRONG = ("require_grad", "requires_gradient", "require_grads", "requires_grads", "required_grad", "requiers_grad",
         "requries_grad", "require_gradient", "reqires_grad", "requires_gard")  # fmt: skip


def check(source: Source) -> Iterator[Finding]:
    """One finding per assignment of True or False to an attribute that is nearly called requires_grad."""
    if not any(word in source.module.text for word in WRONG):
        return
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
            continue
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr in WRONG and isinstance(node.value.value, bool):
                if not source.module.imports("torch", "torchvision", "transformers", "timm", "peft", "lightning"):
                    continue
                mended = f"{ast.unparse(target.value)}.requires_grad"
                yield found(RULE, f"{target.attr} is set: the name is requires_grad", where=at_node(source, target),
                            evidence={"edits": [edit(target, mended)]})


SICK = """
import torch
model = torch.nn.Linear(4, 1)
for parameter in model.parameters():
    parameter.require_grad = False
"""
RULE = Rule(
    code="COD121",
    name="requires_grad_misspelt",
    severity="error",
    summary="requires_grad is misspelt",
    why="Python makes a new attribute of any name: nothing is frozen, and nothing says so.",
    fix="Write requires_grad.",
    source="torch 2.14 documentation, Tensor.requires_grad; TorchFix TOR002",
    check=check,
    trips=lambda: sketch(SICK),
    passes=lambda: sketch(SICK.replace("require_grad", "requires_grad")),
    wrong_when="a class of your own has an attribute of that name",
)
