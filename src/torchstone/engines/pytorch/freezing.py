"""Parts of a model that keep their weights, and the modes that its modules are in."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence

from torch import nn

from torchstone.core.errors import StoneError


def freeze(model: nn.Module, patterns: Sequence[str]) -> list[nn.Module]:
    """Takes the parameters whose names match one of the patterns (re.search) out of training.

    Returns the modules that hold nothing but frozen parameters. They are to stay in eval mode while the rest trains:
    a BatchNorm whose weights are frozen but whose statistics move is not frozen. Raises StoneError for a pattern that
    is no regular expression or matches nothing, and where nothing is left to train.
    """
    names = dict(model.named_parameters())
    for pattern in patterns:
        try:
            matched = [name for name in names if re.search(pattern, name)]
        except re.error as error:
            raise StoneError(f"'{pattern}' is no regular expression: {error}", where="train.freeze") from None
        if not matched:
            listed = ", ".join(list(names)[:6])
            raise StoneError(f"'{pattern}' matches no parameter; there are {listed}, …", where="train.freeze")
        for name in matched:
            names[name].requires_grad_(False)
    if not any(parameter.requires_grad for parameter in names.values()):
        last = re.escape(list(names)[-1].rpartition(".")[0])
        raise StoneError("every parameter is frozen: there is nothing to train", where="train.freeze",
                         fix=f"leave the last layer free: ['^(?!{last})']")
    return frozen_modules(model)


def frozen_modules(model: nn.Module) -> list[nn.Module]:
    """The modules that hold parameters, none of which is trained as things are."""
    return [
        module for module in model.modules()
        if (held := list(module.parameters())) and not any(parameter.requires_grad for parameter in held)
    ]  # fmt: skip


@contextlib.contextmanager
def modes_kept(model: nn.Module) -> Iterator[None]:
    """After the block every module has the mode again that it had before."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def to_train_mode(model: nn.Module, frozen: Sequence[nn.Module]) -> None:
    """Train mode for all but the frozen modules."""
    model.train()
    for module in frozen:
        module.eval()
