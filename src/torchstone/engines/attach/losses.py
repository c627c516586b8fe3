"""Calls of loss functions: shapes, what the input had been through, and which values it holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from torchstone.engines.attach.models import Models
from torchstone.engines.attach.patches import Patches
from torchstone.engines.attach.recorder import Recorder, Row, has_numbers, safely

NAMES = (
    "cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss",
    "smooth_l1_loss", "huber_loss", "kl_div",
)  # fmt: skip
# Calls of each function behind each model whose values are read, while training and while not.
READ = 3
# Nodes that only rearrange numbers: what stands behind them is what the numbers are.
_VIEWS = (
    "View", "UnsafeView", "ReshapeAlias", "Squeeze", "Unsqueeze", "Permute", "Transpose", "T", "ToCopy", "Clone",
    "Slice", "Select", "Expand", "Contiguous", "Alias",
)  # fmt: skip
_DEEPEST = 8


class Losses:
    """The functions of torch.nn.functional through which torch's loss modules go too."""

    def __init__(self, recorder: Recorder, models: Models) -> None:
        self.recorder, self._models = recorder, models
        self._num: dict[tuple[str, bool, int | None], int] = {}
        self.asked: Mapping[str, Any] = {}  # the keyword arguments of the call that listeners are told of
        self.on_row: list[Callable[[Row, Tensor, Tensor], None]] = []
        self.on_call: list[Callable[[str, Tensor, Tensor, Tensor], None]] = []

    def attach(self, patches: Patches) -> None:
        """Wraps each of them."""
        for name in NAMES:
            patches.replace(F, name, self._wrapped(name))

    def _wrapped(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        recorder, is_compiling = self.recorder, torch.compiler.is_compiling

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def loss(input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
                result = original(input, target, *args, **kwargs)
                if is_compiling() or not recorder.is_on:
                    return result
                is_plain = isinstance(input, Tensor) and isinstance(target, Tensor)
                if is_plain and (recorder.is_awake or not self._is_known(name, input)):
                    self._see(name, input, target, result, kwargs)
                return result

            return loss

        return make

    def _is_known(self, name: str, input: Tensor) -> bool:
        """Whether a call in training needs no look while the recorder sleeps.

        Asleep too the first calls of each function are seen: a second part of a script may bring another loss.
        """
        last = self._models.last
        return input.requires_grad and self._num.get((name, True, None if last is None else last.index), 0) >= READ

    @safely
    def _see(self, name: str, input: Tensor, target: Tensor, result: Any, kwargs: Mapping[str, Any]) -> None:
        if not has_numbers(input) or not has_numbers(target):
            return
        has_grad, last = bool(input.requires_grad), self._models.last
        key = name, has_grad, None if last is None else last.index
        number = self._num[key] = self._num.get(key, 0) + 1
        if isinstance(result, Tensor):
            if result.ndim == 0 and kwargs.get("reduction", "mean") == "mean":
                result._is_mean_of = name  # type: ignore[attr-defined]  # backward.py reads it: smoothing hides the node
            self.asked = kwargs
            for listener in self.on_call:
                listener(name, input, target, result)
        if number > READ:
            return
        row = self.recorder.note(
            "loss", function=name, has_grad=has_grad, reduction=kwargs.get("reduction", "mean"),
            place=self.recorder.place(f"loss {name}"), root=None if last is None else last.index,
            **describe(input.detach(), target.detach()), node=behind_views(input),
        )  # fmt: skip
        row["weighted"], row["ignored"] = kwargs.get("weight") is not None, kwargs.get("ignore_index")
        for hear in self.on_row:
            hear(row, input.detach(), target.detach())
        if isinstance(result, Tensor) and result.numel() == 1:
            self.recorder.later(row, "value", result)


def behind_views(tensor: Tensor) -> str | None:
    """The name of the operation that made the numbers of a tensor, such as Softmax; None where no graph is kept."""
    node = tensor.grad_fn
    for _ in range(_DEEPEST):
        if node is None:
            return None
        name = node.name().removesuffix("0").removesuffix("Backward").rstrip("0123456789")
        name = name.removesuffix("Backward")
        if name not in _VIEWS or not node.next_functions:
            return name
        node = node.next_functions[0][0]
    return None


def describe(input: Tensor, target: Tensor) -> dict[str, Any]:
    """Shapes, dtypes and ranges; for an input with classes how far its sums over them are from 1.

    entropy: of the classes of an integer target [N], in nats. Values are read here: called for a few batches only.
    """
    values = input.float()
    is_filled = values.numel() > 0
    row: dict[str, Any] = {
        "input_shape": list(input.shape), "target_shape": list(target.shape), "target_dtype": str(target.dtype),
        "low": float(values.min()) if is_filled else None, "high": float(values.max()) if is_filled else None,
        "std": float(values.std(unbiased=False)) if is_filled else None, "sum_error": None, "entropy": None,
    }  # fmt: skip
    if values.ndim >= 2 and values.shape[1] >= 2 and is_filled:
        row["sum_error"] = float((values.sum(dim=1) - 1).abs().max())
    if target.ndim == 1 and not target.is_floating_point() and target.numel() and int(target.min()) >= 0:
        shares = torch.bincount(target).double() / target.numel()
        row["entropy"] = float(-(shares[shares > 0] * shares[shares > 0].log()).sum())
        row["num_labels"] = int((shares > 0).sum())
    if target.is_floating_point() and target.numel():
        row["target_low"], row["target_high"] = float(target.min()), float(target.max())
    return row
