"""Adapters: a few new weights beside those of a trained model, which stay as they are."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from safetensors.torch import save
from torch import nn

from torchstone.core.run import Run
from torchstone.core.store import write_bytes

# Changes a model with its first weights in place, and freezes what it does not train.
Adapter = Callable[[nn.Module], None]


def adapted_layers(model: nn.Module) -> dict[str, Any]:
    """The layers of a model that have an adapter of peft, by name; empty where there is none."""
    if not any(".base_layer." in name for name, _ in model.named_parameters()):
        return {}
    from peft.tuners.tuners_utils import BaseTunerLayer

    return {name: module for name, module in model.named_modules() if isinstance(module, BaseTunerLayer)}


def merged(model: nn.Module) -> nn.Module:
    """A copy of the model in eval mode whose adapters are added to the weights beside them: plain layers, plain names.

    It gives the same outputs, but for rounding. A model without adapters is copied as it is.
    """
    plain = copy.deepcopy(model).eval()
    for name, layer in adapted_layers(plain).items():
        layer.merge(safe_merge=True)  # refuses weights that are not finite
        parent, _, child = name.rpartition(".")
        setattr(plain.get_submodule(parent), child, layer.get_base_layer())
    return plain


def write_merged(run: Run, model: nn.Module) -> None:
    """merged/model.safetensors in the run's folder, where the model has adapters: what other programs can load.

    `model.weights: RUN` of another recipe takes it.
    """
    if adapted_layers(model):
        plain = merged(model).state_dict()
        state = {name: value.detach().to("cpu", copy=True).contiguous() for name, value in plain.items()}
        write_bytes(run.folder / "merged" / "model.safetensors", save(state))


def adapter_note(model: nn.Module) -> str | None:
    """How much of an adapted model is trained, in a sentence; None for a model without adapters."""
    layers = adapted_layers(model)
    if not layers:
        return None
    own = {id(parameter) for layer in layers.values() for parameter in layer.parameters() if parameter.requires_grad}
    sizes = [(parameter.numel(), id(parameter) in own) for parameter in model.parameters() if parameter.requires_grad]
    trained, total = sum(num for num, _ in sizes), sum(parameter.numel() for parameter in model.parameters())
    return (f"trains {trained:,} of {total:,} parameters ({trained / total:.2%}): "
            f"{sum(num for num, is_own in sizes if is_own):,} in the adapters of {len(layers)} layers, "
            f"{sum(num for num, is_own in sizes if not is_own):,} elsewhere (the head)")
