"""Whether a model's answer to a sequence depends on how far its batch was padded: short ones are asked again, cut."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from torchstone.engines.attach.asking import answers_to, difference, is_askable
from torchstone.engines.attach.models import Models, Root
from torchstone.engines.attach.recorder import Recorder, safely

# Sequences that are asked for, and places of padding that they have at least.
FEWEST, LEAST = 2, 2


class Padding:
    """Once per root that answers sequences of tokens [B, T] as wholes, padded to other lengths in other batches."""

    def __init__(self, recorder: Recorder, models: Models) -> None:
        self.recorder = recorder
        self._widths: dict[int, set[int]] = {}
        self._asked: set[int] = set()
        models.on_forward.append(self._forward)

    def _forward(self, root: Root, inputs: tuple[Any, ...], output: Any) -> None:
        module = root.ref()
        if root.index in self._asked or root.named or module is None or not inputs:
            return
        tokens = inputs[0]
        if not isinstance(tokens, Tensor) or tokens.ndim != 2 or tokens.dtype != torch.int64:
            return
        widths = self._widths.setdefault(root.index, set())
        widths.add(tokens.shape[1])
        if root.has_grad or root.training or self.recorder.step == 0 or len(widths) < 2:
            return
        if answers_wholes(output, len(tokens)) and all(isinstance(v, Tensor) and v.ndim for v in inputs):
            lengths = lengths_of(tokens)
            if lengths is not None:
                self._asked.add(root.index)
                if is_askable(module):
                    self._ask(root, module, inputs, lengths)

    @safely
    def _ask(self, root: Root, module: nn.Module, inputs: tuple[Tensor, ...], lengths: Tensor) -> None:
        """The shorter half of the batch, as it is padded and cut to its own longest one."""
        width = inputs[0].shape[1]
        rows = lengths.argsort()[: max(FEWEST, len(lengths) // 2)]
        cut = int(lengths[rows].max())
        if width - cut < LEAST or cut < 1:
            return
        whole = tuple(value[rows] for value in inputs)
        short = tuple(value[:, :cut] if value.ndim > 1 and value.shape[1] == width else value for value in whole)
        answers = answers_to(self.recorder, module, [whole, short])
        if isinstance(answers, str):
            self.recorder.note("padded", root=root.index, refused=answers)
        elif answers[0].shape == answers[1].shape:
            # an answer that padding makes the same for all has no spread by which to measure
            apart = min(difference(*answers), difference(*answers[::-1]))
            self.recorder.note("padded", root=root.index, num=len(rows), places=width - cut, difference=apart,
                               place=self.recorder.place("padded"))  # fmt: skip


def answers_wholes(output: Any, num: int) -> bool:
    """Whether there is one answer [B] or [B, C] of numbers for each sequence."""
    return isinstance(output, Tensor) and output.ndim in (1, 2) and len(output) == num and output.is_floating_point()


def lengths_of(tokens: Tensor) -> Tensor | None:
    """The lengths [B] of sequences that are filled up with one token, which stands at their ends alone; or None."""
    token = tokens[:, -1].mode().values
    is_token: Tensor = tokens.eq(token)
    tail = is_token.flip(1).long().cumprod(dim=1).sum(dim=1)
    if len(tokens) < 2 * FEWEST or int(is_token.sum()) != int(tail.sum()) or int((tail >= LEAST).sum()) < FEWEST:
        return None
    return tokens.shape[1] - tail
