"""Which parameters decay, and the receipt that says so before the first step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn

_NORMS: tuple[type[nn.Module], ...] = (
    nn.modules.batchnorm._NormBase,  # every BatchNorm and InstanceNorm, lazy and synchronised ones too
    nn.LayerNorm,
    nn.GroupNorm,
    nn.RMSNorm,
)
_EMBEDDINGS: tuple[type[nn.Module], ...] = (nn.Embedding, nn.EmbeddingBag)


def parameter_groups(model: nn.Module, *, weight_decay: float) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The parameter groups of an optimizer, and the receipt: one row per parameter.

    Groups have "params", "weight_decay" and "name" (`decayed`, `not decayed`); an empty group is left out.
    Receipt rows have "name", "shape", "num" (of elements), "decays" and "reason".

    A parameter decays only if it is a matrix or a kernel (two axes or more) that weighs inputs. Not decayed, by
    module type and by shape: parameters of norm layers; embeddings (also position embeddings held as a bare
    parameter of the model: a name with "embed", "pos_" or "token" whose owner is no layer of torch, since they are
    rows to look up or to add, not weights of a sum); every bias; everything with one axis or none, such as the
    scale of a norm layer that torch does not know. Source: Loshchilov & Hutter 2019 do not treat them apart; the
    exclusion is that of Goyal et al. 2017, section 5.3 (BatchNorm), and of GPT-3's and BERT's published code.

    A parameter used in several places is listed once, under its first name: it decays unless one of its places
    is a norm or an embedding. A frozen one is in no group; the receipt says "frozen".
    """
    groups: dict[bool, list[nn.Parameter]] = {True: [], False: []}
    receipt: list[dict[str, Any]] = []
    places = list(_places(model))
    exempt = {id(parameter): reason for _, parameter, reason in places if reason}
    seen: set[int] = set()
    for name, parameter, _ in places:
        if id(parameter) in seen:
            continue
        seen.add(id(parameter))
        reason = exempt.get(id(parameter))
        decays = reason is None and parameter.requires_grad and weight_decay > 0
        if parameter.requires_grad:
            groups[decays].append(parameter)
        receipt.append({
            "name": name,
            "shape": list(parameter.shape),
            "num": parameter.numel(),
            "decays": decays,
            "reason": _reason(parameter, reason, weight_decay),
        })
    named = (("decayed", True, weight_decay), ("not decayed", False, 0.0))
    return [
        {"params": groups[decays], "weight_decay": decay, "name": name}
        for name, decays, decay in named if groups[decays]
    ], receipt


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


def _reason(parameter: nn.Parameter, reason: str | None, weight_decay: float) -> str:
    if not parameter.requires_grad:
        return "frozen: not in the optimizer"
    if reason is not None:
        return reason
    return f"weight with {parameter.ndim} axes" if weight_decay > 0 else "weight decay is 0"
