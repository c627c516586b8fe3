"""Whether a language model looks ahead: a token in the middle is changed, and the answers before it are compared."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from torchstone.engines.attach.asking import answers_to, difference, is_askable
from torchstone.engines.attach.inputs import Inputs
from torchstone.engines.attach.models import Models, Root
from torchstone.engines.attach.recorder import Recorder, Row, safely

# Rows of a batch that are asked for.
ROWS = 2


class Causality:
    """Once per root that is trained to say the next token: at its first forward pass in evaluation after that."""

    def __init__(self, recorder: Recorder, models: Models, inputs: Inputs) -> None:
        self.recorder, self._models, self._inputs = recorder, models, inputs
        self._shifted: set[int] = set()
        self._asked: set[int] = set()
        inputs.on_targets.append(self._compare)
        models.on_forward.append(self._forward)

    def _compare(self, row: Row, target: Tensor) -> None:
        """Whether the targets of a loss are the model's tokens, one place on."""
        last = self._models.last
        if last is None or not row["has_grad"]:
            return
        for tokens in self._inputs.tokens:
            if tokens.ndim == 2 and tokens.shape[1] > 2 and tokens.numel() == target.numel():
                after = target.reshape(tokens.shape)
                if torch.equal(tokens[:, 1:], after[:, :-1]) and not torch.equal(tokens, after):
                    self._shifted.add(last.index)

    def _forward(self, root: Root, inputs: tuple[Any, ...], output: Any) -> None:
        module = root.ref()
        if root.index not in self._shifted or root.index in self._asked or module is None or root.has_grad:
            return
        answer = output[0] if isinstance(output, (tuple, list)) and output else output
        tokens = inputs[0] if inputs and isinstance(inputs[0], Tensor) else None
        if root.training or root.named or tokens is None or tokens.ndim != 2 or not isinstance(answer, Tensor):
            return
        if tokens.is_floating_point() or tokens.shape[1] < 4 or answer.ndim != 3 or answer.shape[:2] != tokens.shape:
            return
        self._asked.add(root.index)
        if is_askable(module):
            self._ask(root, module, tokens[:ROWS])

    @safely
    def _ask(self, root: Root, module: nn.Module, tokens: Tensor) -> None:
        middle = tokens.shape[1] // 2
        changed = tokens.clone()
        changed[:, middle:] = changed[:, middle:].flip(1).roll(1, 1)
        answers = answers_to(self.recorder, module, [(tokens,), (changed,)])
        if isinstance(answers, str):
            self.recorder.note("looked_ahead", root=root.index, refused=answers)
            return
        one, other = (_answer(answer)[:, :middle] for answer in answers)
        is_changed = not torch.equal(tokens, changed)
        self.recorder.note("looked_ahead", root=root.index, middle=middle, is_changed=is_changed,
                           difference=difference(one, other))  # fmt: skip


def _answer(output: Any) -> Tensor:
    answer: Tensor = output[0] if isinstance(output, (tuple, list)) else output
    return answer
