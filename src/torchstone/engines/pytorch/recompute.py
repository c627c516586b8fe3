"""Blocks that keep their inputs alone and are computed anew in the backward pass: less memory, a third more time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from types import MethodType
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from torchstone.core.errors import StoneError


def blocks(model: nn.Module) -> list[nn.Module]:
    """The outermost modules with parts and weights of their own that stand in a list or a sequence of the model.

    Those are the blocks of residual networks and transformers. A plain sequence of layers is no block.
    """
    found: list[nn.Module] = []
    inside: set[int] = set()
    for parent in model.modules():
        if not isinstance(parent, (nn.Sequential, nn.ModuleList)):
            continue
        for child in parent.children():
            if id(child) in inside or isinstance(child, (nn.Sequential, nn.ModuleList, nn.RNNBase)):
                continue
            if next(child.children(), None) is None or next(child.parameters(), None) is None:
                continue
            found.append(child)
            inside |= {id(module) for module in child.modules()}
    return found


def recompute(model: nn.Module) -> int:
    """Lets each block keep its inputs alone; in the backward pass it is computed anew. Returns how many there are.

    Gradients are the same bits: dropout draws what it drew before, and statistics of BatchNorm, like all buffers,
    change once (torch 2.14, `torch.utils.checkpoint`, the variant without re-entrance; Chen et al. 2016, Training
    Deep Nets with Sublinear Memory Cost). Names of weights stay. Raises StoneError for a model without blocks.
    """
    found = blocks(model)
    if not found:
        raise StoneError("this model has no blocks that could be computed anew", where="train.recompute",
                         fix="set train.recompute to false, or raise train.accumulate")
    for block in found:
        block.forward = MethodType(_forward, block)
    return len(found)


def _forward(block: nn.Module, *args: Any, **kwargs: Any) -> Any:
    """Stands for the forward of a block; one that takes no part in training runs as it is."""
    plain = partial(type(block).forward, block)
    if not (block.training and torch.is_grad_enabled()):
        return plain(*args, **kwargs)
    return checkpoint(plain, *args, use_reentrant=False, context_fn=partial(_contexts, block), **kwargs)


def _contexts(block: nn.Module) -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    return nullcontext(), _buffers_kept(block)


@contextmanager
def _buffers_kept(block: nn.Module) -> Iterator[None]:
    """What the second pass writes into buffers is undone: the first one has written it already."""
    buffers = list(block.buffers())
    with torch.no_grad():
        before = [buffer.clone() for buffer in buffers]
    try:
        yield
    finally:
        if buffers:
            with torch.no_grad():
                torch._foreach_copy_(buffers, before)
