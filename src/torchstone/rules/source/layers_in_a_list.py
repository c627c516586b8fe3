"""COD118: layers of a module stand in a plain list or dictionary."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.calls import is_model
from torchstone.parts.source.definition import Definition
from torchstone.parts.source.moment import Play
from torchstone.parts.source.read import Source, made_alone, sketch
from torchstone.parts.source.value import Value, alternatives, origins
from torchstone.rules._source import at

# What registers layers that it is given.
REGISTERS = (".add_module", ".register_module", ".__setattr__", "setattr", ".extend", "vars", ".update", ".register")


def check(source: Source) -> Iterator[Finding]:
    """One finding per field of a module that holds layers which nothing registers."""
    for definition in source.classes:
        if not {base.rpartition(".")[2] for base in definition.base_names()} & {"Module", "LightningModule"}:
            continue
        instance, play = made_alone(source, definition)
        text = source.module.text
        for name, value in instance.fields.items():
            layers = _layers(value, play)
            if layers and not _is_registered(instance, name, layers, play) and not _is_gathered(definition, name, text):
                what = f"self.{name} holds layers in a plain {'dictionary' if value.kind == 'mapping' else 'list'}"
                place = value if value.path == source.path and value.line else layers[0]
                yield found(RULE, what, where=at(place), evidence={"field": name, "layers": len(layers)})


def _layers(field: Value, play: Play) -> list[Value]:
    """The layers with parameters in a plain list, tuple or dictionary, also those appended or set by key."""
    if field.kind not in ("sequence", "mapping") or field.name == "prepare":
        return []
    inner = [one for arg in field.args for one in alternatives(arg)]
    inner += [one for moment in play.calls(".append") if moment.value.receiver is field
              for arg in moment.value.args for one in alternatives(arg)]
    inner += [moment.value for moment in play.moments if moment.what == "assign" and moment.target is not None
              and moment.target.kind == "item" and moment.target.receiver is field]
    return [one for one in inner if _has_parameters(one)]


def _has_parameters(value: Value) -> bool:
    if value.is_call("torch.nn.Parameter"):
        return True
    if value.kind != "call" or value.receiver is not None or not is_model(value):
        return False
    if value.definition is not None:
        return any(_has_parameters(one) for one in value.fields.values())
    tail = value.name.rpartition(".")[2]
    if tail in ("Sequential", "ModuleList"):
        return any(_has_parameters(one) for one in value.args)
    words = ("Linear", "Conv", "Embedding", "LSTM", "GRU", "Norm", "Transformer", "MultiheadAttention", "RNN")
    return value.name.startswith("torch.nn.") and any(word in tail for word in words)


def _is_registered(instance: Value, name: str, layers: list[Value], play: Play) -> bool:
    """Whether the layers, or the list, are given to something that registers them, or are fields themselves."""
    field = instance.fields[name]
    wanted = {id(field), *(id(layer) for layer in layers)}
    others = [one for key, value in instance.fields.items() if key != name for one in alternatives(value)]
    if any(id(one) in wanted for one in others):
        return True
    for moment in play.calls():
        given = [*moment.value.args, *moment.value.keywords.values()]
        owner = moment.value.receiver
        is_kept = moment.is_call(*REGISTERS) or owner is None or owner.kind != "sequence"
        is_kept = is_kept and not moment.value.name.startswith("torch.nn.init.")
        is_kept = is_kept and not moment.is_call(".append", "len", "print", "enumerate", "zip", "range", "reversed")
        parts = [one for arg in given for one in origins(arg, lambda value: value.kind == "sequence")]
        if is_kept and any(id(one) in wanted for one in parts):
            return True
    return False


def _is_gathered(definition: Definition, name: str, text: str) -> bool:
    """Whether the class lists its parameters itself, or code of the file reaches for those of the list."""
    own = {"parameters", "named_parameters", "state_dict", "_apply", "to", "cuda", "named_modules", "children"}
    if own & set(definition.methods):
        return True
    for node in ast.walk(definition.module.tree):
        if isinstance(node, (ast.For, ast.comprehension)) and f".{name}" in ast.unparse(node.iter):
            target = ast.unparse(node.target).strip("()").split(",")[-1].strip()
            if f"{target}.parameters()" in text or f"{target}.to(" in text or f"{target}.requires_grad_" in text:
                return True
    return False


SICK = """
from torch import nn
class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = [nn.Linear(8, 8) for _ in range(depth)]
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
RULE = Rule(
    code="COD118",
    name="source_layers_in_a_list",
    severity="error",
    summary="layers in a plain list or dictionary",
    why="parameters(), state_dict() and to() do not see them: they are never trained, saved or moved.",
    fix="Use nn.ModuleList, nn.ModuleDict or nn.Sequential.",
    source="torch 2.14 documentation, nn.ModuleList: modules it contains are properly registered",
    check=check,
    trips=lambda: sketch(SICK),
    passes=lambda: sketch(SICK.replace("[nn.Linear(8, 8) for _ in range(depth)]",
                                       "nn.ModuleList([nn.Linear(8, 8) for _ in range(depth)])")),
    wrong_when="the layers are hidden on purpose, or registered where the code was not followed",
)
