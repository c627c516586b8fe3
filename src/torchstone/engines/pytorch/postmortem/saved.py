"""Where a pass went wrong, read off the graph that it left: nothing is run again, nothing is changed.

In somebody else's loop a forward pass must not be repeated, since it may count, log or draw. But the graph of the loss
still holds what its operations have kept for the backward pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from torchstone.engines.pytorch.postmortem.graph import LEAF, kept, nodes, operation
from torchstone.engines.pytorch.postmortem.values import bad_places, describe, has_nan, is_bad, is_mask

# Operations whose output is finite where their input is: what is bad behind them was bad before.
_HARMLESS = (
    "relu", "leaky_relu", "gelu", "silu", "tanh", "sigmoid", "elu", "hardtanh", "threshold", "view", "unsafe_view",
    "reshape_alias", "transpose", "permute", "t", "squeeze", "unsqueeze", "expand", "clone", "slice", "select", "alias",
    "max_pool2_d_with_indices", "softmax", "log_softmax", "native_dropout", "as_strided", "split", "cat", "unbind",
)  # fmt: skip
# Operations that make infinity of finite numbers where these are too large, but never NaN.
_LARGE_AT_MOST = ("mul", "add", "sub", "neg", "mean", "sum", "to_copy")
# Operations whose slope is infinite or undefined somewhere.
STEEP = (
    "sqrt", "pow", "div", "linalg_vector_norm", "norm", "std", "log", "log2", "log10", "acos", "asin", "atanh",
    "cdist", "euclidean_dist", "rsqrt", "reciprocal", "atan2", "logit", "erfinv", "prod", "cumprod", "exp",
)  # fmt: skip
_PLACES = {"self": 0, "input": 0, "mat1": 1, "mat2": 2, "other": 1, "weight": 1, "target": 1}
_DEEPEST = 12


def read_forward(root: Any, names: Mapping[int, str], *, last_of_model: int | None) -> dict[str, Any]:
    """An autopsy of a bad loss, from its `grad_fn` before the backward pass frees it.

    names: id of each parameter → its name. last_of_model: the number of the node at which the model's own forward
    ended, after which all is the loss.
    """
    graph = nodes(root)
    weights = weights_of(graph, names)
    found: dict[str, Any] = {"phase": "forward", "layer": None, "weights": weights, "data": []}
    for node in sorted((n for n in graph if not n.name().endswith(LEAF)), key=lambda n: int(n._sequence_nr())):
        told = _signs(node)
        if told is None:
            continue
        at = told.pop("node")
        found |= told
        found |= _place(at, names, last_of_model)
        if isinstance(found.get("outside"), Tensor):
            _blame_outside(found, weights)
        found.pop("outside", None)
        return found
    return found


def weights_of(graph: Sequence[Any], names: Mapping[int, str]) -> dict[str, Any]:
    """The largest weight of a graph, and its weights that are not finite."""
    variables = [node.variable for node in graph if node.name().endswith(LEAF)]
    sizes = [(float(v.detach().abs().max()), names.get(id(v), "?")) for v in variables if v.numel()]
    bad = [names.get(id(v), "?") for v in variables if is_bad(v.detach())]
    largest, name = max((s for s in sizes if s[0] < torch.inf), default=(None, None))
    return {"largest": largest, "largest_of": name, "bad": bad[:20], "num_bad": len(bad)}


def _signs(node: Any) -> dict[str, Any] | None:
    """What is wrong at a node or just behind it; None where nothing is."""
    saved = kept(node)
    results = {name: value for name, value in saved.items() if name.startswith(("result", "output"))}
    inputs = {name: value for name, value in saved.items() if name not in results}
    for name, value in inputs.items():
        if is_bad(value) and not is_mask(value):
            edge = _edge(node, name)
            behind = _maker(edge, is_nan=has_nan(value))
            if edge is None or behind is None:
                return {"node": node, "operation": operation(node), "outside": value, "saved_as": name}
            return {"node": behind, **_born(behind, value)}
    told = _outside_domain(operation(node), inputs, results)
    if told is not None:
        return {"node": node, "operation": operation(node), "operands": told, "origin": None}
    bad = next((value for name, value in results.items() if is_bad(value)), None)
    if bad is None:
        return None
    if operation(node) in ("softmax", "log_softmax") and _is_masked(node):
        rows = int(torch.isnan(bad).all(dim=-1).sum())
        operand = {**describe(bad), "all_low": rows}
        return {"node": node, "operation": operation(node), "operands": [operand], "origin": None} if rows else None
    behind = _maker(node, is_nan=has_nan(bad)) or node
    return {"node": behind, **_born(behind, bad)}


def _edge(node: Any, name: str) -> Any:
    """The node that made what is saved under a name; None where it came from outside of the graph."""
    place = _PLACES.get(name, 0)
    if name == "mat2" and len(node.next_functions) == 2:
        place = 1
    return node.next_functions[place][0] if place < len(node.next_functions) else None


def _maker(node: Any, *, is_nan: bool) -> Any:
    """The first node from here towards the inputs that can make something bad of sound numbers; None where none is.

    is_nan: whether what is bad holds NaN, which some operations cannot make.
    """
    for _ in range(_DEEPEST):
        if node is None or node.name().endswith(LEAF):
            return None
        if operation(node) not in _HARMLESS and not (is_nan and operation(node) in _LARGE_AT_MOST):
            return node
        is_nan = is_nan and operation(node) != "mul"  # 0 * inf: behind a product an infinity is enough
        node = next((after for after, _ in node.next_functions if after is not None), None)
    return None


def _born(node: Any, output: Tensor) -> dict[str, Any]:
    saved = kept(node)
    told: dict[str, Any] = {"operation": operation(node), "output": describe(output), "origin": None}
    told["operands"] = [{"name": name, **describe(value)} for name, value in sorted(saved.items(), key=_self_first)]
    left, right = saved.get("mat1", saved.get("self")), saved.get("mat2")
    if output.dtype in (torch.float16, torch.bfloat16) and left is not None and right is not None and left.ndim == 2:
        told["wide"] = float((left.float() @ right.float()).abs().max())
    return told


def _self_first(item: tuple[str, Tensor]) -> tuple[bool, str]:
    return item[0] not in ("self", "input", "mat1", "result"), item[0]


def _outside_domain(
    name: str, inputs: Mapping[str, Tensor], results: Mapping[str, Tensor]
) -> list[dict[str, Any]] | None:
    """The operands, described, where an operation was given what it has no value for."""
    own, other, result = inputs.get("self"), inputs.get("other"), results.get("result")
    if name in ("log", "log2", "log10") and own is not None and bool((own <= 0).any()):
        return [describe(own)]
    if name == "div" and other is not None and bool((other == 0).any()):
        return [*([] if own is None else [describe(own)]), describe(other)]
    if name == "pow" and own is not None and bool((own <= 0).any()) and result is not None and is_bad(result):
        return [describe(own)]
    if name in ("acos", "asin", "atanh") and own is not None and bool((own.abs() > 1).any()):
        return [describe(own)]
    if name == "nll_loss" and float(inputs.get("total_weight", torch.ones(()))) == 0:
        return [describe(inputs["total_weight"])]
    if result is not None and name in ("sqrt", "rsqrt", "reciprocal") and is_bad(result):
        told = describe(result)  # the operand is not kept: a root is NaN where it was negative, 1/x inf where it was 0
        return [{**told, "negatives": told["nan"], "zeros": told["inf"] if name != "sqrt" else 0}]
    return None


def _is_masked(node: Any) -> bool:
    """Whether a mask was laid over what goes into a softmax."""
    for _ in range(4):
        node = next((after for after, _ in node.next_functions if after is not None), None)
        if node is None:
            return False
        if operation(node) in ("masked_fill", "where", "add"):
            return True
    return False


def _place(node: Any, names: Mapping[int, str], last_of_model: int | None) -> dict[str, Any]:
    """The layer whose weight a node uses, else the last layer before it, or the loss."""
    if last_of_model is not None and int(node._sequence_nr()) > last_of_model:
        return {"layer": "loss"}
    own = _layers(node, names, 2)
    if own:
        return {"layer": own[0]}
    before = _layers(node, names, 40)
    return {"layer": before[0] if before else "", "is_after": bool(before)}


def _layers(node: Any, names: Mapping[int, str], depth: int) -> list[str]:
    """The layers of the nearest parameters behind a node, nearest first."""
    waiting, seen, found = [node], {node}, []
    for _ in range(depth):
        following = []
        for one in waiting:
            for after, _ in one.next_functions:
                if after is None or after in seen:
                    continue
                seen.add(after)
                following.append(after)
                if after.name().endswith(LEAF) and id(after.variable) in names:
                    found.append(names[id(after.variable)].rpartition(".")[0])
        if found:
            return found
        waiting = following
    return found


def _blame_outside(found: dict[str, Any], weights: dict[str, Any]) -> None:
    """What came from outside of the graph: a weight, the target, or an input, with its bad examples."""
    value, name = found.pop("outside"), found.pop("saved_as")
    if weights["num_bad"] and name in ("weight", "mat2"):
        found["origin"] = f"weight {weights['bad'][0]}"
        return
    found["origin"] = "target" if name == "target" else "input"
    places = bad_places(value)
    if places is not None:
        rows = places.pop("places")
        found["data"] = [{"of": found["origin"], **places, "rows": rows,
                          "examples": [f"number {row} of the batch" for row in rows], "column_names": []}]


def read_backward(root: Any, names: Mapping[int, str], bad: set[int]) -> dict[str, Any]:
    """An autopsy of gradients that are bad although the loss was finite, from the shape of the graph alone.

    bad: ids of the parameters whose gradients, or weights since then, are bad. The gradient went wrong between the last
    sound parameter of the backward pass and the first bad one; a steep operation that lies there is named.
    """
    graph = nodes(root)
    listed = [names.get(number, "?") for number in bad]
    found: dict[str, Any] = {"phase": "backward", "layer": None, "is_inferred": True, "operation": None, "data": [],
                             "gradients": {"bad": listed[:20], "num_bad": len(bad)}}  # fmt: skip
    owners = sorted(((int(n._sequence_nr()), v) for n in graph for v in _own(n)), key=lambda pair: -pair[0])
    first_bad = next((number for number, variable in owners if id(variable) in bad), None)
    if first_bad is None:
        return found
    sound = [number for number, variable in owners if id(variable) not in bad and number > first_bad]
    last_sound = min(sound, default=None)
    between = sorted(_between(graph, first_bad, last_sound), key=lambda n: -int(n._sequence_nr()))
    steep = next((node for node in between if operation(node) in STEEP), None)
    if steep is not None:
        return {**found, "operation": operation(steep), **_place(steep, names, None)}
    layer = next(names.get(id(variable), "?") for number, variable in owners if number == first_bad)
    return {**found, "layer": layer.rpartition(".")[0]}


def _own(node: Any) -> Iterator[Any]:
    """The parameters that a node uses, itself or through a transposition."""
    for after, _ in node.next_functions:
        if after is None:
            continue
        if after.name().endswith(LEAF):
            yield after.variable
        elif operation(after) in ("t", "transpose", "to_copy", "permute"):
            inner = [one for one, _ in after.next_functions if one is not None]
            yield from (one.variable for one in inner if one.name().endswith(LEAF))


def _between(graph: Sequence[Any], first_bad: int, last_sound: int | None) -> Iterator[Any]:
    for node in graph:
        if node.name().endswith(LEAF):
            continue
        number = int(node._sequence_nr())
        if number >= first_bad and (last_sound is None or number < last_sound):
            yield node
