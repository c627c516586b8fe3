"""Optimizers: each takes parameter groups and gives a torch optimizer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

# As `groups.parameter_groups` makes them: mappings with "params" and what overrides the options for these.
Groups = Iterable[dict[str, Any]]

# Devices on which torch has a fused step (torch 2.9 to 2.14, torch/utils/_foreach_utils.py).
_FUSED = frozenset({"cpu", "cuda", "mps", "xpu", "hpu", "mtia"})


def can_fuse(groups: Groups) -> bool:
    """Whether all parameters are floating-point numbers on a device with a fused step.

    Asked for explicitly because torch on CPU takes a loop over parameters unless told otherwise: AdamW of a small
    network 136 µs a step against 48 µs fused (our measurement, torch 2.14.1, one thread).
    """
    return all(
        parameter.device.type in _FUSED and torch.is_floating_point(parameter)
        for group in groups for parameter in group["params"]
    )


# Weights that one pass over a list of tensors may touch on a CPU. Each operation goes over the whole list before the
# next one begins; longer lists fall out of the cache (LAMB, 500,000 weights: 3.8 ms a step in one list, 3.2 so; see
# benchmarks/bench_pieces.py).
_CPU_LIST = 65_536


def with_gradients(group: dict[str, Any]) -> Iterator[tuple[list[torch.Tensor], list[torch.Tensor]]]:
    """The parameters of a group that have a gradient, with their gradients, in lists of one device and type each."""
    lists: dict[Any, tuple[list[torch.Tensor], list[torch.Tensor]]] = {}
    sizes: dict[Any, int] = {}
    for parameter in group["params"]:
        if parameter.grad is None:
            continue
        kind = (parameter.device, parameter.dtype)
        if kind in lists and parameter.device.type == "cpu" and sizes[kind] + parameter.numel() > _CPU_LIST:
            yield lists.pop(kind)
        if kind not in lists:
            lists[kind], sizes[kind] = ([], []), 0
        lists[kind][0].append(parameter)
        lists[kind][1].append(parameter.grad)
        sizes[kind] += parameter.numel()
    yield from lists.values()
