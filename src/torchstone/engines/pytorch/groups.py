"""Which parameters decay and at which rate each learns, and the receipt that says so before the first step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from torchstone.core.errors import StoneError

_NORMS: tuple[type[nn.Module], ...] = (
    nn.modules.batchnorm._NormBase,  # every BatchNorm and InstanceNorm, lazy and synchronised ones too
    nn.LayerNorm,
    nn.GroupNorm,
    nn.RMSNorm,
)
_FROZEN = "frozen: not in the optimizer"
_EMBEDDINGS: tuple[type[nn.Module], ...] = (nn.Embedding, nn.EmbeddingBag)


def parameter_groups(
    model: nn.Module,
    *,
    weight_decay: float,
    rules: Sequence[Mapping[str, Any]] = (),
    layer_decay: float = 1.0,
    apart_hidden: bool = False,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The parameter groups of an optimizer, and the receipt: one row per parameter.

    Groups have "params", "weight_decay" and "name" (`decayed`, `not decayed`), and "lr_scale" where it is not 1:
    `scaled_rates` applies it; an empty group is left out. Receipt rows have "name", "shape", "num" (of elements),
    "decays", "weight_decay", "lr_scale" and "reason".

    A parameter decays only if it is a matrix or a kernel (two axes or more) that weighs inputs. Not decayed, by
    module type and by shape: parameters of norm layers; embeddings (also position embeddings held as a bare
    parameter of the model: a name with "embed", "pos_" or "token" whose owner is no layer of torch, since they are
    rows to look up or to add, not weights of a sum); every bias; everything with one axis or none, such as the
    scale of a norm layer that torch does not know. Source: Loshchilov & Hutter 2019 do not treat them apart; the
    exclusion is that of Goyal et al. 2017, section 5.1 (BatchNorm), and of GPT-3's and BERT's published code.

    A parameter used in several places is listed once, under its first name: it decays unless one of its places
    is a norm or an embedding. A frozen one is in no group; the receipt says "frozen".

    rules: mappings with `match`, a regular expression looked for in the name, and `lr_scale` or `weight_decay` or
        both for what it matches; a later rule wins over an earlier one, and over the rules above. Raises StoneError
        for one that matches nothing.
    layer_decay: above 0 to 1; the rate of each layer is so many times that of the next one, the last has the whole
        (Howard & Ruder 2018; `layers` says what a layer is). It multiplies with `lr_scale`.
    apart_hidden: hidden matrices in groups named `hidden`, for muon: weights with two axes that would decay, but
        for the first and the last weight of the model (Jordan et al. 2024 leave both to AdamW).
    """
    places = list(_places(model))
    exempt = {id(parameter): reason for _, parameter, reason in places if reason}
    listed: dict[int, tuple[str, nn.Parameter]] = {}  # each under its first name
    for name, parameter, _ in places:
        listed.setdefault(id(parameter), (name, parameter))
    changed = asked_for([name for name, _ in listed.values()], rules)
    depths = _scales_by_layer({name: parameter for name, parameter, _ in places}, layer_decay)
    hidden = _hidden(places, exempt) if apart_hidden else set()
    groups: dict[tuple[str, float, float], list[nn.Parameter]] = {}
    receipt: list[dict[str, Any]] = []
    for name, parameter in listed.values():
        asked = changed.get(name, {})
        reason = exempt.get(id(parameter))
        decay = asked.get("weight_decay", 0.0 if reason else weight_decay) if parameter.requires_grad else 0.0
        scale = asked.get("lr_scale", 1.0) * depths[name]
        if parameter.requires_grad:
            kind = "hidden" if id(parameter) in hidden else ("decayed" if decay > 0 else "not decayed")
            groups.setdefault((kind, decay, scale), []).append(parameter)
        receipt.append({
            "name": name, "shape": list(parameter.shape), "num": parameter.numel(), "decays": decay > 0,
            "weight_decay": decay, "lr_scale": scale, "reason": _reason(parameter, reason, decay, asked),
        })  # fmt: skip
    return [_group(*key, groups[key]) for key in sorted(groups, key=_order)], receipt


def decaying(model: nn.Module, rules: Sequence[Mapping[str, Any]] = ()) -> list[nn.Parameter]:
    """The trained parameters on which a weight decay would act, whether there is one or not; rules as above."""
    made, _ = parameter_groups(model, weight_decay=1.0, rules=rules)
    return [parameter for group in made if group["weight_decay"] > 0 for parameter in group["params"]]


def _group(kind: str, decay: float, scale: float, parameters: list[nn.Parameter]) -> dict[str, Any]:
    group: dict[str, Any] = {"params": parameters, "weight_decay": decay, "name": kind}
    return group if scale == 1 else {**group, "name": f"{kind}, rate x {scale:.4g}", "lr_scale": scale}


def _order(key: tuple[str, float, float]) -> tuple[int, float, float]:
    kind, decay, scale = key
    return ("hidden", "decayed", "not decayed").index(kind), -decay, -scale


def scaled_rates(optimizer: torch.optim.Optimizer) -> list[float]:
    """Multiplies each group's rate by its `lr_scale`, where it has one; returns the rates. Call it once."""
    for group in optimizer.param_groups:
        group["lr"] *= group.get("lr_scale", 1.0)
    return [float(group["lr"]) for group in optimizer.param_groups]


def as_given(
    receipt: list[dict[str, Any]], model: nn.Module, given: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The receipt with the decay and the share of the rate that an optimizer's groups really hold."""
    group_of = {id(parameter): group for group in given for parameter in group["params"]}
    parameters = dict(model.named_parameters())
    rows = []
    for row in receipt:
        group = group_of.get(id(parameters[row["name"]]), {})
        decay = float(group.get("weight_decay", 0.0))
        if group and row["reason"] == _FROZEN:
            row = {**row, "reason": "frozen at first"}
        rows.append({**row, "decays": decay > 0, "weight_decay": decay, "lr_scale": group.get("lr_scale", 1.0)})
    return rows


def asked_for(names: Sequence[str], rules: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Per parameter name what the rules ask for: "lr_scale", "weight_decay" and "match", the last rule's pattern.

    Raises StoneError for a rule that cannot be read, asks for nothing, or matches no name.
    """
    asked: dict[str, dict[str, Any]] = {}
    for index, rule in enumerate(rules):
        where = f"parameters.groups[{index}]"
        _check_rule(rule, where)
        matched = [name for name in names if re.search(rule["match"], name)]
        if not matched:
            heads = ", ".join(dict.fromkeys(name.partition(".")[0] for name in names))
            raise StoneError(f"'{rule['match']}' is in no parameter's name; they begin with {heads}", where=where)
        for name in matched:
            asked.setdefault(name, {}).update({key: value for key, value in rule.items() if value is not None})
    return asked


def _check_rule(rule: Mapping[str, Any], where: str) -> None:
    unknown = set(rule) - {"match", "lr_scale", "weight_decay"}
    if unknown or not isinstance(rule.get("match"), str):
        raise StoneError(f"found {dict(rule)}; a rule has match, and lr_scale or weight_decay", where=where)
    try:
        re.compile(rule["match"])
    except re.error as error:
        raise StoneError(f"'{rule['match']}' is no regular expression: {error}", where=f"{where}.match") from None
    scale, decay = rule.get("lr_scale"), rule.get("weight_decay")
    if scale is None and decay is None:
        raise StoneError("this rule asks for nothing", where=where, fix="give it lr_scale or weight_decay")
    if (scale is not None and not scale > 0) or (decay is not None and not decay >= 0):
        raise StoneError(f"lr_scale {scale}, weight_decay {decay}: the first must be above 0, the second 0 or above",
                         where=where, fix="to keep parameters as they are, freeze them")


def layer_of(name: str) -> str:
    """The path of a parameter's layer: up to its first number (`blocks.3`), else its module; empty for a bare one."""
    parts = name.split(".")[:-1]
    end = next((index + 1 for index, part in enumerate(parts) if part.isdigit()), len(parts))
    return ".".join(parts[:end])


def layers(shapes: Mapping[str, Sequence[int]]) -> list[list[str]]:
    """Parameter names, given with their shapes in the order in which the model holds them, cut into layers.

    A layer is all that shares a path up to its first number (`blocks.3`), else one module. What has no weight of
    two axes or more (a norm) belongs to the layer before it.
    """
    cut: dict[str, list[str]] = {}
    for name in shapes:
        cut.setdefault(layer_of(name), []).append(name)
    found: list[list[str]] = []
    for members in cut.values():
        if found and all(len(shapes[name]) < 2 for name in members):
            found[-1] += members
        else:
            found.append(list(members))
    return found


def _scales_by_layer(parameters: Mapping[str, nn.Parameter], layer_decay: float) -> dict[str, float]:
    if not 0 < layer_decay <= 1:
        raise StoneError(f"layer_decay is {layer_decay:g}; it must be above 0, at most 1",
                         where="parameters.layer_decay", fix="for example 0.75, or leave it out")
    found = layers({name: parameter.shape for name, parameter in parameters.items()})
    return {name: layer_decay ** (len(found) - 1 - depth) for depth, layer in enumerate(found) for name in layer}


def _hidden(places: list[tuple[str, nn.Parameter, str | None]], exempt: Mapping[int, str]) -> set[int]:
    weights = [parameter for _, parameter, reason in places if reason != "bias" and parameter.ndim >= 2]
    ends = {id(weight) for weight in (*weights[:1], *weights[-1:])}
    return {id(weight) for weight in weights if weight.ndim == 2} - ends - set(exempt)


def _places(model: nn.Module) -> Iterator[tuple[str, nn.Parameter, str | None]]:
    """Every place of every parameter, with the reason why one there does not decay."""
    for path, module in model.named_modules(remove_duplicate=False):
        for name, parameter in module.named_parameters(recurse=False, remove_duplicate=False):
            yield f"{path}.{name}" if path else name, parameter, _exempt(module, name, parameter)


def _exempt(module: nn.Module, name: str, parameter: nn.Parameter) -> str | None:
    if isinstance(module, _NORMS):
        return f"parameter of a norm layer ({type(module).__name__})"
    if isinstance(module, _EMBEDDINGS):
        return f"embedding ({type(module).__name__})"
    if name.startswith("bias") or name.endswith("_bias"):  # bias, bias_ih_l0 of an LSTM, in_proj_bias
        return "bias"
    if parameter.ndim <= 1:
        return f"{'one axis' if parameter.ndim else 'a single number'}: a scale or a shift"
    is_foreign = not type(module).__module__.startswith("torch.nn.")
    if is_foreign and any(part in name.lower() for part in ("embed", "pos_", "token")):
        return "embedding held as a bare parameter"
    if is_foreign and parameter.numel() == max(parameter.shape):
        return "one axis longer than 1: a scale or a shift"
    return None


def _reason(parameter: nn.Parameter, reason: str | None, weight_decay: float, asked: Mapping[str, Any]) -> str:
    if not parameter.requires_grad:
        return _FROZEN
    if "weight_decay" in asked:
        return f"asked for by '{asked['match']}'"
    if reason is not None:
        return reason
    return f"weight with {parameter.ndim} axes" if weight_decay > 0 else "weight decay is 0"
