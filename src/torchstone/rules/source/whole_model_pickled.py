"""COD402: a whole model is pickled."""

from __future__ import annotations

from collections.abc import Iterator

from torchstone.core.finding import Finding
from torchstone.core.rule import Rule, found
from torchstone.parts.source.calls import MODEL_BASES, wrapped
from torchstone.parts.source.read import Source, sketch
from torchstone.parts.source.value import Value, alternatives
from torchstone.rules._source import at

NO_MODELS = ("torch.nn.Parameter", "torch.nn.Buffer", "torch.nn.UninitializedParameter")


def check(source: Source) -> Iterator[Finding]:
    """One finding per torch.save of a model itself that is made in this code."""
    for _, moment in source.moments("torch.save"):
        saved = alternatives(moment.value.given("obj", 0))
        if saved and all(_is_a_model(one) for one in saved):
            yield found(RULE, "torch.save is given a whole model", where=at(moment))


def _is_a_model(value: Value) -> bool:
    """Whether a module was made here, beyond doubt: a name alone is no proof."""
    if value.kind != "call" or value.receiver is not None:
        return False
    if value.definition is not None:
        return any(base in MODEL_BASES for base in value.definition.base_names())
    inner = wrapped(value)
    if inner is not None:
        return _is_a_model(inner)
    is_layer = value.name.startswith("torch.nn.") and value.name.count(".") == 2 and value.name[9:10].isupper()
    return is_layer and value.name not in NO_MODELS


RULE = Rule(
    code="COD402",
    name="whole_model_pickled",
    severity="warning",
    summary="torch.save of a model instead of its state_dict",
    why="The file holds a pickle of the class: loading runs code from it, and fails once the code is moved or renamed.",
    fix="Save model.state_dict(), best as safetensors.",
    source="torch 2.14 documentation, Saving and loading models: state_dict is recommended",
    check=check,
    trips=lambda: sketch("import torch\nmodel = torch.nn.Linear(4, 1)\ntorch.save(model, 'a.pt')\n"),
    passes=lambda: sketch("import torch\nmodel = torch.nn.Linear(4, 1)\ntorch.save(model.state_dict(), 'a.pt')\n"),
    wrong_when="the file is a throw-away of this very process",
)
