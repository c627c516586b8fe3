"""Embeddings of all ranks, with gradients that find their way back."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def is_shared() -> bool:
    """Whether there are other ranks to gather from: in training only, where every rank takes part in every step."""
    return torch.is_grad_enabled() and dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def gathered(embeddings: Tensor) -> tuple[Tensor, int]:
    """The embeddings [B, D] of all ranks, one behind the other [sum of B, D], and where this rank's begin.

    All ranks must call it together; their numbers of examples may differ, also be 0. Each rank's gradient is the sum
    of what all ranks' losses say about its embeddings: right for a loop that sums gradients over ranks.
    """
    length = torch.tensor([len(embeddings)], device=embeddings.device)
    lengths = [torch.zeros_like(length) for _ in range(dist.get_world_size())]
    dist.all_gather(lengths, length)
    sizes = [int(size) for size in lengths]
    whole: Tensor = _Gather.apply(embeddings, sizes)
    return whole, sum(sizes[: dist.get_rank()])


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, mine: Tensor, sizes: list[int]) -> Tensor:
        ctx.sizes = sizes
        padded = mine.new_zeros((max(sizes), *mine.shape[1:]))
        padded[: len(mine)] = mine
        parts = [torch.empty_like(padded) for _ in sizes]
        dist.all_gather(parts, padded)
        return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        total = gradients[0].contiguous().clone()
        dist.all_reduce(total)
        return torch.split(total, ctx.sizes)[dist.get_rank()], None
