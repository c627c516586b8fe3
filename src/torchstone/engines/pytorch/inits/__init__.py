"""The first weights of a network, set anew after it was built."""

from __future__ import annotations

from collections.abc import Callable, Set

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd

from torchstone.core import catalog
from torchstone.core.errors import StoneError
from torchstone.core.plan import Plan
from torchstone.engines.pytorch.weights.report import weights_report

# (model, names of the parameters that may be set, generator on the CPU) -> names of those that were set
Init = Callable[[nn.Module, Set[str], torch.Generator], list[str]]


def of_each_layer(set_weight: Callable[[Tensor, torch.Generator], object]) -> Init:
    """Sets the weight of every linear and convolution layer, in the model's order, and its bias to 0.

    Embeddings, norms and recurrent layers stay as they were built.
    """

    def init(model: nn.Module, fresh: Set[str], generator: torch.Generator) -> list[str]:
        done = []
        for name, module in model.named_modules():
            if not isinstance(module, (nn.Linear, _ConvNd)):
                continue
            start = f"{name}." if name else ""
            if f"{start}weight" in fresh:
                set_weight(module.weight, generator)
                done.append(f"{start}weight")
            if module.bias is not None and f"{start}bias" in fresh:
                nn.init.zeros_(module.bias)
                done.append(f"{start}bias")
        return done

    return init


def check_gain(gain: float) -> None:
    """Raises StoneError for a gain of 0, with which nothing is ever learnt, and below, which is one above turned."""
    if not gain > 0:
        raise StoneError(f"gain is {gain:g}; it must be above 0", where="init.gain", fix="leave it out for 1")


def initialise(model: nn.Module, plan: Plan) -> list[str]:
    """Sets the first weights as the plan's `init` says, drawn from train.seed; returns the names of what was set.

    Tensors that came from given weights are never touched. Without `init` nothing is. Raises StoneError where the
    part finds nothing to set.
    """
    name = plan.get("init.name")
    if not name:
        return []
    part: Init = catalog.find(__name__, name)(**plan.section("init.options"))
    report = weights_report(model)
    fresh = {each for each, _ in model.named_parameters()}
    fresh -= set() if report is None else {*report.matched, *report.adapted}
    done = part(model, fresh, torch.Generator().manual_seed(int(plan["train.seed"])))
    if not done:
        raise StoneError(f"{name} finds no weights to set in {plan.get('model.name')}: all were given, or there are no "
                         "such layers", where="init", fix="leave init out")
    return done
