"""How many axes a tensor has, where code tells it for certain."""

from __future__ import annotations

import ast

from torchstone.parts.source.loaders import dataset_of, loaders_in
from torchstone.parts.source.outputs import width_of
from torchstone.parts.source.value import HANDS_ON, Value, alternatives

MAKES = ("torch.randn", "torch.rand", "torch.zeros", "torch.ones", "torch.empty")
SAME_SHAPE = frozenset(HANDS_ON & {"to", "cuda", "cpu", "float", "double", "half", "bfloat16", "contiguous", "clone",
                                   "type", "requires_grad_"}) | {"detach", "long", "int", "relu", "sigmoid", "tanh"}


def axes_of(value: Value | None, depth: int = 0) -> int | None:
    """The number of axes of a tensor; None where that is not certain, or branches differ.

    A Linear with one output counts as (N, 1); what a loader gives has the axes of the tensor in its TensorDataset.
    """
    found = {_axes(one, depth) for one in alternatives(value)} if depth < 30 else {None}
    return found.pop() if len(found) == 1 else None


def _axes(value: Value, depth: int) -> int | None:
    if width_of(value) == 1:
        return 2
    if value.kind == "op":
        return _axes_of_operator(value, depth)
    if value.kind == "item":
        return _axes_of_item(value, depth)
    if value.kind != "call":
        return None
    if value.result is not None:
        return axes_of(value.result, depth + 1)
    if value.name in MAKES and value.args and all(one.kind in ("const", "param") for one in value.args):
        return len(value.args)
    if value.receiver is None or value.name == "__call__":
        return None
    return _axes_of_method(value, axes_of(value.receiver, depth + 1))


def _axes_of_method(value: Value, before: int | None) -> int | None:
    """The axes after a method that keeps, adds or drops some."""
    if value.name in SAME_SHAPE:
        return before
    if value.name in ("view", "reshape") and value.args:
        numbers = [one.const for one in value.args]
        return len(numbers) if all(isinstance(one, int) for one in numbers) and set(numbers) <= {-1, 1} else None
    if value.name == "flatten" and not value.args and not value.keywords:
        return 1
    if value.name == "unsqueeze" and before is not None:
        return before + 1
    dim = value.given("dim", 0)
    is_last = dim is not None and (dim.is_const(-1) or (before is not None and dim.is_const(before - 1)))
    is_of_one = value.receiver is not None and all(width_of(one) == 1 for one in alternatives(value.receiver))
    if value.name == "squeeze" and before == 2 and is_of_one and (is_last or dim is None):
        return 1
    return None


def _axes_of_operator(value: Value, depth: int) -> int | None:
    sides = [axes_of(one, depth + 1) if one.kind != "const" else 0 for one in value.args]
    if len(sides) != 2 or any(one is None for one in sides):
        return None
    numbers = [one for one in sides if one is not None]
    if value.name == "MatMult":
        return 2 if numbers == [2, 2] else None
    return max(numbers) if value.name in ("Add", "Sub", "Mult", "Div") else None


def _axes_of_item(value: Value, depth: int) -> int | None:
    """The axes of a slice of rows, or of one of the tensors that a loader of a TensorDataset gives."""
    index = value.args[0] if value.args else None
    if index is not None and isinstance(index.node, ast.Slice):
        return axes_of(value.receiver, depth + 1)
    batch = value.receiver
    if batch is None or batch.kind != "each" or index is None or not isinstance(index.const, int):
        return None
    options = [dataset_of(one) for one in loaders_in(batch.receiver)]
    data = alternatives(options[0]) if len(options) == 1 else []
    if len(data) == 1 and data[0].is_call("torch.utils.data.TensorDataset") and index.const < len(data[0].args):
        return axes_of(data[0].args[index.const], depth + 1)
    return None
