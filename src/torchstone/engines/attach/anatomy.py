"""What a module is made of, as plain values, and what is amiss in how it was put together."""

from __future__ import annotations

from typing import Any

from torch import nn

NORMS = (
    nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.LocalResponseNorm,
)  # fmt: skip
BATCH_NORMS = nn.modules.batchnorm._BatchNorm
DROPOUTS = nn.modules.dropout._DropoutNd


def has_modes(model: nn.Module) -> bool:
    """Whether train and eval mode differ: dropout that drops, or BatchNorm with statistics."""
    return any(
        (isinstance(module, DROPOUTS) and module.p > 0)
        or (isinstance(module, BATCH_NORMS) and module.track_running_stats)
        or (isinstance(module, (nn.RNNBase, nn.MultiheadAttention)) and module.dropout > 0)
        for module in model.modules()
    )


def describe(model: nn.Module, index: int) -> dict[str, Any]:
    """What a model is made of, as plain values; docs/watched-rows.md says what each key means."""
    owners = {id(parameter): module for module in model.modules() for parameter in module.parameters(recurse=False)}
    parameters = list(model.parameters())
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    return {
        "model": index, "class": type(model).__name__, "num_parameters": len(parameters),
        "num_trained": len(trained), "num_weights": sum(parameter.numel() for parameter in parameters),
        "is_norm_alone": bool(trained) and len(trained) < len(parameters)
        and all(isinstance(owners[id(parameter)], NORMS) for parameter in trained if id(parameter) in owners),
        "unregistered": unregistered(model), "misspelt": misspelt(model), "frozen_norms": frozen_norms(model),
        "has_modes": has_modes(model), "wrapper": _wrapper(model),
    }  # fmt: skip


def _wrapper(model: nn.Module) -> str | None:
    name = type(model).__name__
    return name if name in ("DistributedDataParallel", "DataParallel", "FullyShardedDataParallel") else None


def unregistered(model: nn.Module) -> list[str]:
    """Attributes that hold modules or parameters in a plain list, tuple or dict, so that no optimizer finds them."""
    known = {id(module) for module in model.modules()} | {id(parameter) for parameter in model.parameters()}
    found = []
    for path, module in model.named_modules():
        for name, value in vars(module).items():
            if name.startswith("_") or not isinstance(value, (list, tuple, dict)):
                continue
            members = value.values() if isinstance(value, dict) else value
            if any(_is_lost(member, known) for member in members):
                found.append(f"{path}.{name}".lstrip("."))
    return found


def _is_lost(member: Any, known: set[int]) -> bool:
    if isinstance(member, nn.Parameter):
        return member.requires_grad and id(member) not in known
    if not isinstance(member, nn.Module) or id(member) in known:
        return False
    return any(parameter.requires_grad and id(parameter) not in known for parameter in member.parameters())


def misspelt(model: nn.Module) -> list[str]:
    """Parameters and modules on which an attribute `require_grad` was set, which means nothing."""
    things: list[tuple[str, Any]] = [*model.named_parameters(), *model.named_modules()]
    return [
        name or type(model).__name__ for name, thing in things
        if "require_grad" in vars(thing) or (isinstance(thing, nn.Module) and vars(thing).get("requires_grad") is False)
    ]  # fmt: skip


def frozen_norms(model: nn.Module) -> list[str]:
    """BatchNorm layers that keep statistics, whose own weights are all frozen."""
    return [
        name for name, module in model.named_modules()
        if isinstance(module, BATCH_NORMS) and module.track_running_stats and module.affine
        and not any(parameter.requires_grad for parameter in module.parameters())
    ]  # fmt: skip
