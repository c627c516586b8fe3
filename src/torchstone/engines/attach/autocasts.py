"""Whether autocast reaches a model: in which precision its matrix products were made, read off the graph, for free."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torchstone.engines.attach.models import Models, Root
from torchstone.engines.attach.recorder import Recorder

# Nodes of the graph that are walked through, once for each model; what autocast runs in half precision leaves these.
WALK = 4000
PRODUCTS = ("Addmm", "Mm", "Bmm", "Baddbmm", "Addbmm", "Matmul", "Linear", "Convolution", "ScaledDotProduct")


class Autocasts:
    """A row "autocast" for the first pass of each model with gradients that is made while autocast is on."""

    def __init__(self, recorder: Recorder, models: Models) -> None:
        self.recorder = recorder
        self._seen: set[int] = set()
        models.on_forward.append(self._forward)

    def _forward(self, root: Root, inputs: tuple[Any, ...], output: Any) -> None:
        if root.index in self._seen or not root.has_grad:
            return
        tensor = first_of(output)
        device = None if tensor is None else tensor.device.type
        on = [kind for kind in {"cpu", "cuda", device} if kind is not None and torch.is_autocast_enabled(kind)]
        if not on or tensor is None or tensor.grad_fn is None:
            return
        self._seen.add(root.index)
        dtypes, is_whole = products(tensor.grad_fn)
        wanted = str(torch.get_autocast_dtype(device if device in on else on[0])).removeprefix("torch.")
        self.recorder.note("autocast", root=root.index, on=sorted(on), dtype=wanted, device=device, products=dtypes,
                           is_whole=is_whole, place=self.recorder.place("autocast"))  # fmt: skip


def first_of(output: Any) -> Tensor | None:
    """The first tensor of an output that hangs on a graph."""
    if isinstance(output, Tensor):
        return output if output.grad_fn is not None else None
    logits = getattr(output, "logits", None)
    members = (logits,) if isinstance(logits, Tensor) else output if isinstance(output, (list, tuple)) else ()
    return next((found for member in members if (found := first_of(member)) is not None), None)


def products(node: Any) -> tuple[dict[str, int], bool]:
    """How many matrix products of each precision a graph holds, and whether all of it was walked through."""
    found: dict[str, int] = {}
    waiting, seen = [node], {node}
    while waiting and len(seen) <= WALK:
        node = waiting.pop()
        if node.name().startswith(PRODUCTS) and node._input_metadata:
            dtype = str(node._input_metadata[0].dtype).removeprefix("torch.")
            found[dtype] = found.get(dtype, 0) + 1
        new = [one for one, _ in node.next_functions if one is not None and one not in seen]
        seen.update(new)
        waiting += new
    return found, not waiting
