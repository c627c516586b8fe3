"""The graph of a loss: its nodes, which layer each belongs to, and what each has kept for the backward pass."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from torchstone.engines.pytorch.postmortem.values import describe, is_bad, largest

# Nodes that are looked at: a graph of more is cut, nearest to the loss first.
MOST_NODES = 50_000
LEAF = "AccumulateGrad"


def nodes(root: Any) -> list[Any]:
    """The nodes behind a loss's `grad_fn`, nearest first."""
    found: list[Any] = []
    seen, waiting = {root}, [root]
    while waiting and len(found) < MOST_NODES:
        following = []
        for node in waiting:
            found.append(node)
            for after, _ in node.next_functions:
                if after is not None and after not in seen:
                    seen.add(after)
                    following.append(after)
        waiting = following
    return found


def operation(node: Any) -> str:
    """A node's operation in the words of torch: `NativeLayerNormBackward0` → native_layer_norm."""
    name = re.sub(r"Backward\d*$", "", str(node.name()).rpartition("::")[2])
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def kept(node: Any) -> dict[str, Tensor]:
    """The tensors that a node has kept for its backward pass, by name; none where they are freed or were changed."""
    found = {}
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                value = getattr(node, name)
            except RuntimeError:  # freed by a backward pass, or written over since
                continue
            if isinstance(value, Tensor):
                found[name.removeprefix("_saved_")] = value.detach()
    return found


def layers_of(outputs: Iterable[tuple[str, Sequence[Any], Sequence[Any]]]) -> dict[Any, str]:
    """Node → the module that made it, from each module's name with the nodes of its inputs and outputs, inner first."""
    owner: dict[Any, str] = {}
    for name, starts, ends in outputs:
        waiting, stops = [node for node in ends if node not in starts], set(starts)
        while waiting:
            node = waiting.pop()
            if node in owner or node in stops or node.name().endswith(LEAF):
                continue
            owner[node] = name
            waiting += [after for after, _ in node.next_functions if after is not None]
    return owner


@dataclass(frozen=True)
class Stain:
    """A backward node that was given sound gradients and gave on bad ones.

    largest: the largest gradient that came to it. operands: what it had kept, described; a bad one is among `bad`.
    """

    node: Any
    largest: float
    gradient: dict[str, Any]
    operands: dict[str, dict[str, Any]]
    dtype: str


class Watch:
    """Hooks on all nodes of a graph; after the pass `stain()` is the node in which what is bad was born.

    passed: (node, largest gradient given on, number of bad values), in the order of the pass.
    """

    def __init__(self, root: Any) -> None:
        self.passed: list[tuple[Any, float, int]] = []
        self._stains: dict[Any, Stain] = {}
        self._kept: dict[str, dict[str, Any]] = {}
        self._bad_from: dict[Any, list[Any]] = {}  # node → the nodes that gave it a bad gradient
        self._handles = []
        for node in nodes(root):
            if not node.name().endswith(LEAF):
                self._handles += [node.register_prehook(self._before(node)), node.register_hook(self._after(node))]

    def _before(self, node: Any) -> Any:
        def before(gradients: tuple[Tensor | None, ...]) -> None:
            self._kept = {} if _are_bad(gradients) else {name: describe(value) for name, value in kept(node).items()}

        return before

    def _after(self, node: Any) -> Any:
        def after(given: tuple[Tensor | None, ...], came: tuple[Tensor | None, ...]) -> None:
            bad = [t for t in given if t is not None and is_bad(t)]
            num = sum(int((~torch.isfinite(t)).sum()) for t in bad)
            self.passed.append((node, max((largest(t) for t in given if t is not None), default=0.0), num))
            for gradient, (following, _) in zip(given, node.next_functions, strict=False):
                if following is not None and gradient is not None and is_bad(gradient):
                    self._bad_from.setdefault(following, []).append(node)
            if bad and not _are_bad(came):
                size = max((largest(t) for t in came if t is not None), default=0.0)
                dtype = str(bad[0].dtype).removeprefix("torch.")
                self._stains[node] = Stain(node, size, describe(bad[0]), dict(self._kept), dtype)

        return after

    def stain(self) -> Stain | None:
        """The first birth from which a parameter's gradient is bad; what is masked later does no harm."""
        waiting = [node for node in self._bad_from if node.name().endswith(LEAF)]
        seen = set(waiting)
        while waiting:
            for node in self._bad_from.get(waiting.pop(), []):
                if node not in seen:
                    seen.add(node)
                    waiting.append(node)
        return next((stain for node, stain in self._stains.items() if node in seen), None)

    def close(self) -> None:
        """Takes the hooks off."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()


def _are_bad(gradients: Iterable[Tensor | None]) -> bool:
    return any(t is not None and is_bad(t) for t in gradients)


def layer_of(node: Any, owner: Mapping[Any, str]) -> str:
    """The layer that a node belongs to; `loss` where no module made it."""
    return owner.get(node, "loss")
