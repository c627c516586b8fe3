"""How much faster this CPU is in bfloat16: measured, since a flag says that units are there and not what they give."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import torch
from torch.nn import functional

# Seconds that each of the two precisions may take, its first pass included; both together stay below 0.3 s.
LIMIT_S = 0.12


@cache
def bf16_speed(kind: str) -> float:
    """Time in float32 over time in bfloat16 under autocast, on this CPU with the threads that torch has now.

    kind: `convolution` ([8, 64, 28, 28] by 3 x 3, a middle layer of a ResNet-18) or `product` ([512, 768] by
    [768, 768], a layer of a small transformer). The best of some passes each, the casts included. Once per process.
    """
    generator = torch.Generator().manual_seed(0)
    if kind == "convolution":
        inputs = torch.randn(8, 64, 28, 28, generator=generator)
        weight = torch.randn(64, 64, 3, 3, generator=generator)
        work = lambda: functional.conv2d(inputs, weight, padding=1)  # noqa: E731
    else:
        inputs, weight = torch.randn(512, 768, generator=generator), torch.randn(768, 768, generator=generator)
        work = lambda: functional.linear(inputs, weight)  # noqa: E731
    return _best_s(work, is_half=False) / _best_s(work, is_half=True)


def _best_s(work: Callable[[], torch.Tensor], *, is_half: bool) -> float:
    begun = time.perf_counter()
    seconds: list[float] = []
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=is_half):
        while len(seconds) < 2 or time.perf_counter() - begun < LIMIT_S:
            started = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - started)
            if len(seconds) >= 2 and time.perf_counter() - begun + max(seconds) > LIMIT_S:
                break
    return min(seconds[1:])  # the first pass allocates and chooses a kernel
