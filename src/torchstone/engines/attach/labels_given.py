"""What language models of transformers are given beside their tokens: labels, and the mask of what is padding."""

from __future__ import annotations

from typing import Any, TypeGuard

from torch import Tensor, nn

from torchstone.engines.attach.models import Models, Root
from torchstone.engines.attach.recorder import Recorder

# Forward passes with gradients of a root whose labels are read, and labels of a batch below which nothing is told.
READ, FEWEST = 3, 16


class LabelsGiven:
    """One row "labels_given" for each of the first passes with labels and tokens of one shape, [B, T]."""

    def __init__(self, recorder: Recorder, models: Models) -> None:
        self.recorder = recorder
        self._num: dict[int, int] = {}
        models.on_forward.append(self._forward)

    def _forward(self, root: Root, inputs: tuple[Any, ...], output: Any) -> None:
        labels, module = root.named.get("labels"), root.ref()
        number = self._num.get(root.index, 0)
        if not root.has_grad or labels is None or module is None or number >= READ:
            return
        tokens, mask = root.named.get("input_ids"), root.named.get("attention_mask")
        if is_of_two_sides(module) or not (is_grid(labels) and is_grid(tokens)) or tokens.shape != labels.shape:
            return
        self._num[root.index] = number + 1
        is_scored = labels >= 0
        num = int(is_scored.sum())
        if num < FEWEST:
            return
        row = self.recorder.note("labels_given", root=root.index, shifts=shifts_labels(module), scored=num,
                                 same=share(labels == tokens, is_scored), after=None, masked=None)  # fmt: skip
        row["after"] = share(labels[:, :-1] == tokens[:, 1:], is_scored[:, :-1])
        if is_grid(mask) and mask.shape == labels.shape:
            row["masked"] = share(mask == 0, is_scored)


def is_grid(thing: Any) -> TypeGuard[Tensor]:
    """Whether these are whole numbers [B, T]."""
    return isinstance(thing, Tensor) and thing.ndim == 2 and not thing.is_floating_point() and thing.shape[1] > 2


def share(is_so: Tensor, among: Tensor) -> float:
    """The share of the places `among` of which something is so."""
    return float((is_so & among).sum()) / max(1, int(among.sum()))


def own_class(module: nn.Module) -> nn.Module:
    """The model inside of wrappers that hold it as `module` or `base_model`."""
    while not type(module).__module__.startswith("transformers."):
        inner = getattr(module, "module", None) or getattr(getattr(module, "base_model", None), "model", None)
        if not isinstance(inner, nn.Module):
            break
        module = inner
    return module


def shifts_labels(module: nn.Module) -> bool:
    """Whether it is a causal language model of transformers, which moves its labels by one place itself."""
    kind = type(own_class(module))
    return kind.__module__.startswith("transformers.") and kind.__name__.endswith(("ForCausalLM", "LMHeadModel"))


def is_of_two_sides(module: nn.Module) -> bool:
    """Whether it has an encoder and a decoder, so that mask and labels belong to different sequences."""
    return bool(getattr(getattr(own_class(module), "config", None), "is_encoder_decoder", False))
