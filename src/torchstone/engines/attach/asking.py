"""Two questions to a model in evaluation: is its answer the same again, and does it depend on its neighbours."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from torchstone.engines.attach.models import Models, Root
from torchstone.engines.attach.recorder import Recorder, safely

# Examples of a batch that are asked for: fewer tell nothing, more cost.
FEWEST, MOST_SECONDS = 4, 2.0


class Asking:
    """Once per root, at its second forward pass in evaluation: half of the batch again, then all of it again.

    Generators and buffers are put back, so that the loop's numbers stay the same. A model is not asked where a second
    pass could do something else: with hooks of the user's, in several processes, compiled, or when it is slow.
    """

    def __init__(self, recorder: Recorder, models: Models) -> None:
        self.recorder = recorder
        self._asked: dict[int, int] = {}
        self._began = 0.0
        models.on_forward.append(self._forward)

    def _forward(self, root: Root, inputs: tuple[Any, ...], output: Any) -> None:
        module = root.ref()
        if module is None or root.training or torch.is_grad_enabled() or self.recorder.step == 0:
            return
        number = self._asked[root.index] = self._asked.get(root.index, 0) + 1
        if number == 1:
            self._began = time.perf_counter()
        if number != 2 or time.perf_counter() - self._began > MOST_SECONDS:
            return
        if is_askable(module) and is_batch(inputs, output) and not root.named:
            self._ask(root, module, inputs, output)

    @safely
    def _ask(self, root: Root, module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        num = len(output)
        half = max(FEWEST // 2, num // 2)
        answers = answers_to(self.recorder, module, [tuple(value[:half] for value in inputs), inputs])
        if isinstance(answers, str):
            self.recorder.note("asked", root=root.index, refused=answers)
            return
        part, again = answers
        self.recorder.note(
            "asked", root=root.index, num=num, repeat_difference=difference(output, again),
            part_difference=difference(output[:half], part) if part.shape == output[:half].shape else None,
        )  # fmt: skip


def answers_to(
    recorder: Recorder, module: nn.Module, questions: Sequence[tuple[Tensor, ...]]
) -> list[Any] | str:
    """The model's outputs for other inputs, which no wire sees and which change nothing; why, where it refuses."""
    recorder.is_on = False
    try:
        with undisturbed(module):
            return [module(*inputs) for inputs in questions]
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    finally:
        recorder.is_on = True


def is_askable(module: nn.Module) -> bool:
    """Whether a second pass through the model is sure to change nothing."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return False
    if type(module).__name__ in ("OptimizedModule", "ScriptModule", "RecursiveScriptModule"):
        return False
    for one in module.modules():
        if one.training:  # dropout at prediction, on purpose
            return False
        if (one._forward_hooks and one is not module) or one._forward_pre_hooks or len(one._forward_hooks) > 1:
            return False
    return True


def is_batch(inputs: tuple[Any, ...], output: Any) -> bool:
    """Whether all inputs and the output are tensors of the same number of examples, enough of them."""
    return (
        isinstance(output, Tensor) and output.ndim >= 2 and output.is_floating_point() and len(output) >= FEWEST
        and bool(inputs) and all(isinstance(v, Tensor) and v.ndim >= 1 and len(v) == len(output) for v in inputs)
    )  # fmt: skip


def difference(one: Tensor, other: Tensor) -> float:
    """The largest difference of two outputs, as a share of the spread of the first."""
    one, other = one.float(), other.float()
    spread = float(one.std(unbiased=False)) or float(one.abs().max()) or 1.0
    return float((one - other).abs().max()) / spread


@contextmanager
def undisturbed(module: nn.Module) -> Iterator[None]:
    """Generators and buffers afterwards are what they were before."""
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None
    kept = [(buffer, buffer.detach().clone()) for buffer in module.buffers()]
    try:
        yield
    finally:
        torch.set_rng_state(states[0])
        random.setstate(states[1])
        np.random.set_state(states[2])
        if devices is not None:
            torch.cuda.set_rng_state_all(devices)
        with torch.no_grad():
            for buffer, value in kept:
                if not torch.equal(buffer, value):
                    buffer.copy_(value)
