"""Low-rank adapters beside linear layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from torchstone.core.errors import StoneError, missing_extra
from torchstone.engines.pytorch.adapters import Adapter
from torchstone.engines.pytorch.weights.take_over import head_of

# What the projections of attention are called: queries and values apart, or all three in one.
ATTENTION = ("query", "value", "q_proj", "v_proj", "q_lin", "v_lin", "q", "v", "qkv", "Wqkv", "qkv_proj")


def lora(
    *, rank: int = 8, alpha: float = 16.0, dropout: float = 0.05, target: Sequence[str] | None = None
) -> Adapter:
    """LoRA: trains two small matrices beside each chosen linear layer, and the head; all else is frozen.

    The layer's output gains alpha / rank · B A x, where A [rank, in] starts at random and B [out, rank] at zero, so
    that the model begins as it was (Hu et al. 2022; peft's implementation).
    rank: at least 1; alpha: above 0, often twice the rank; dropout: share of the adapter's inputs dropped in training.
    target: the last words of the layers' names, such as `query`; without it the query and value projections of
    attention (their section 7.1), or all three where they are one layer. Norms of frozen blocks and dropout inside
    them are in eval mode. Raises StoneError for values out of range and a target that names no linear layer.
    """
    if rank < 1 or not alpha > 0 or not 0 <= dropout < 1:
        raise StoneError(f"rank {rank}, alpha {alpha:g}, dropout {dropout:g}; rank must be at least 1, alpha above 0, "
                         "dropout from 0 to below 1", where="adapter", fix="start with rank 8, alpha 16, dropout 0.05")

    def adapt(model: nn.Module) -> None:
        _adapt(model, {"r": rank, "lora_alpha": alpha, "lora_dropout": dropout}, target)

    return adapt


def _adapt(model: nn.Module, options: dict[str, Any], target: Sequence[str] | None) -> None:
    rank = options["r"]
    head = head_of(model.state_dict())
    layers = _chosen(model, head, target)
    narrow = next((name for name, layer in layers.items() if rank > min(layer.in_features, layer.out_features)), None)
    if narrow is not None:
        width = min(layers[narrow].in_features, layers[narrow].out_features)
        raise StoneError(f"rank is {rank}, and {narrow} has only {width} dimensions", where="adapter.rank",
                         fix=f"give {max(1, width // 4)}, or name wider layers with adapter.target")
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise missing_extra("peft", "lora", "the adapter lora") from error
    inject_adapter_in_model(LoraConfig(**options, target_modules=list(layers)), model)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(".lora_" in name or name.startswith(f"{head}."))


def _chosen(model: nn.Module, head: str, target: Sequence[str] | None) -> dict[str, nn.Linear]:
    """The linear layers whose last name is wanted, by their whole names."""
    linear = {name: module for name, module in model.named_modules() if isinstance(module, nn.Linear) and name != head}
    last = {name: name.rpartition(".")[2] for name in linear}
    wanted = ATTENTION if target is None else tuple(target)
    known = ", ".join(dict.fromkeys(last.values())) or "none"
    if target is not None and (unknown := [word for word in wanted if word not in last.values()]):
        raise StoneError(f"no linear layer is called {', '.join(unknown)}; there are: {known}", where="adapter.target")
    chosen = {name: linear[name] for name in linear if last[name] in wanted}
    if not chosen:
        raise StoneError(f"this model has no attention whose projections are known; its linear layers: {known}",
                         where="adapter",
                         fix=f"{'name layers with adapter.target, or ' if linear else ''}train the whole model")
    return chosen
