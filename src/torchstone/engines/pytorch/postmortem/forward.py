"""Where a forward pass first goes wrong: the operation whose output is bad while its operands are sound.

Every operation below autograd is looked at, and what is bad is followed from the loss back to where it was born. So an
infinity that does no harm, such as a mask of attention or a quotient that is never used, is not blamed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.weak import WeakTensorKeyDictionary

from torchstone.engines.pytorch.postmortem.values import describe, has_nan, is_bad, is_float, is_mask, largest

HALVES = (torch.float16, torch.bfloat16)
# Operations that put infinities on purpose, and those whose output is memory that nobody has written yet.
MASKS = ("masked_fill", "where", "full", "fill", "new_full", "full_like", "scalar_tensor", "triu", "tril")
EMPTY = ("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted", "set_", "resize_")
# Layers that are listed.
MOST_LAYERS = 400


@dataclass
class Operation:
    """One operation with a bad output: its place, what it was given, and from where its bad operands come.

    sources: for each bad operand whether it holds NaN, and the number of the operation that made it, None for none.
    is_meant: whether it puts infinities on purpose, as a mask does.
    wide: the largest value of its output where that is computed in float32, for one that overflowed in half precision.
    """

    name: str
    layer: str
    output: dict[str, Any]
    operands: list[dict[str, Any]]
    sources: list[tuple[bool, int | None, Tensor]]
    is_meant: bool
    wide: float | None = None


@dataclass
class Layer:
    """What went through a module: largest values in and out, and how many values of the output are not finite."""

    name: str
    kind: str
    calls: int = 0
    largest_in: float = 0.0
    largest_out: float = 0.0
    bad_in: int = 0
    bad_out: int = 0
    num: int = 0
    dtype: str = ""


@dataclass
class Forward(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Looks at every operation while it is on; `layers` of `model` are listed in the order in which they ended."""

    model: nn.Module
    layers: dict[str, Layer] = field(default_factory=dict)
    outputs: list[tuple[str, list[Any], list[Any]]] = field(default_factory=list)
    _operations: list[Operation] = field(default_factory=list)
    _stack: list[str] = field(default_factory=list)
    _handles: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._made: Any = WeakTensorKeyDictionary()
        self._of_storage: dict[int, int] = {}

    def __enter__(self) -> Forward:
        for name, module in self.model.named_modules():
            before, after = self._hooks(name, module)
            self._handles.append(module.register_forward_pre_hook(before))
            self._handles.append(module.register_forward_hook(after, always_call=True))
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *reason: Any) -> None:
        super().__exit__(*reason)  # type: ignore[no-untyped-call]
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _hooks(self, name: str, module: nn.Module) -> tuple[Callable[..., None], Callable[..., None]]:
        is_leaf = not any(True for _ in module.children())
        starts: list[list[Any]] = []

        def before(module: nn.Module, inputs: tuple[Any, ...]) -> None:
            self._stack.append(name)
            starts.append([t.grad_fn for t in tree_leaves(inputs) if isinstance(t, Tensor) and t.grad_fn is not None])

        def after(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
            self._stack.pop()
            ends = [t.grad_fn for t in tree_leaves(output) if isinstance(t, Tensor) and t.grad_fn is not None]
            self.outputs.append((name, starts.pop(), ends))
            if is_leaf and (name in self.layers or len(self.layers) < MOST_LAYERS):
                kind = type(module).__name__
                with torch.utils._python_dispatch._disable_current_modes():
                    _note(self.layers.setdefault(name, Layer(name, kind)), inputs, output)

        return before, after

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Runs the operation, and writes it down where its output is bad."""
        output = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name.rstrip("_") not in EMPTY:
            outputs = [t for t in tree_leaves(output) if isinstance(t, Tensor) and is_bad(t)]
            if outputs:
                self._write(func, name, (args, kwargs or {}), outputs)
        return output

    def _write(self, func: Any, name: str, given: tuple[Any, Any], outputs: list[Tensor]) -> None:
        ours = {id(t) for t in outputs}
        operands = [t for t in tree_leaves(given) if isinstance(t, Tensor)]
        bad = [t for t in operands if is_bad(t) and id(t) not in ours]
        told = describe(outputs[0])
        is_constant = not any(t.requires_grad for t in operands)
        is_meant = not told["nan"] and (name.rstrip("_") in MASKS or (is_constant and is_mask(outputs[0])))
        operation = Operation(
            name.rstrip("_"), self._stack[-1] if self._stack else "loss", told, [describe(t) for t in operands],
            [(has_nan(t), self._maker(t), t.detach()) for t in bad], is_meant,
        )  # fmt: skip
        if outputs[0].dtype in HALVES and not bad and not told["nan"]:
            operation.wide = _in_float32(func, name, *given)
        self._operations.append(operation)
        for tensor in outputs:
            self._made[tensor] = len(self._operations) - 1
            self._of_storage[tensor.untyped_storage().data_ptr()] = len(self._operations) - 1

    def _maker(self, tensor: Tensor) -> int | None:
        number: int | None = self._made.get(tensor)
        return self._of_storage.get(tensor.untyped_storage().data_ptr()) if number is None else number

    def birth(self, loss: Tensor) -> tuple[Operation | None, Tensor | None]:
        """The operation in which what is bad in the loss was born; a tensor where it was given from outside.

        Both are None where the loss is sound. An operation beside a tensor is the one that used it first.
        """
        if not is_bad(loss):
            return None, None
        number = self._maker(loss)
        operation = self._operations[number] if number is not None else next(reversed(self._operations), None)
        if operation is None:
            return None, loss
        while True:
            step = self._behind(operation)
            if step is None:
                return operation, None
            if isinstance(step, Tensor):
                return operation, step
            operation = step

    def _behind(self, operation: Operation) -> Operation | Tensor | None:
        """One step back to where a bad operand was made; None where this operation is the birth."""
        for _, number, tensor in sorted(operation.sources, key=lambda source: not source[0]):
            if number is None:
                if not is_mask(tensor):
                    return tensor
            elif not self._comes_from_mask(number):
                return self._operations[number]
        return None

    def _comes_from_mask(self, number: int) -> bool:
        """Whether all that is bad here are infinities that somebody put on purpose."""
        operation = self._operations[number]
        if operation.output["nan"]:
            return False
        if operation.is_meant:
            return True
        return bool(operation.sources) and all(
            is_mask(tensor) if maker is None else maker < number and self._comes_from_mask(maker)
            for _, maker, tensor in operation.sources
        )  # fmt: skip


def _in_float32(func: Any, name: str, args: Any, kwargs: Any) -> float | None:
    """The largest size of the output of the same operation in float32; None where it cannot be run so."""

    def widen(value: Any) -> Any:
        if isinstance(value, torch.dtype) and value in HALVES:
            return torch.float32
        return value.float() if isinstance(value, Tensor) and value.dtype in HALVES else value

    if name.endswith("_") and name != "_to_copy":
        return None
    try:
        output = func(*tree_map(widen, args), **tree_map(widen, kwargs))
    except (RuntimeError, TypeError, NotImplementedError):  # a kernel for halves alone
        return None
    sizes = [float(t.detach().abs().max()) for t in tree_leaves(output) if isinstance(t, Tensor) and is_float(t)]
    return max(sizes, default=None)


def _note(layer: Layer, inputs: Any, output: Any) -> None:
    layer.calls += 1
    for tensor in _floats(inputs):
        layer.largest_in = max(layer.largest_in, largest(tensor))
        layer.bad_in += int((~torch.isfinite(tensor)).sum())
    for tensor in _floats(output):
        layer.largest_out = max(layer.largest_out, largest(tensor))
        layer.bad_out += int((~torch.isfinite(tensor)).sum())
        layer.num += tensor.numel()
        layer.dtype = str(tensor.dtype).removeprefix("torch.")


def _floats(things: Any) -> Sequence[Tensor]:
    return [t.detach() for t in tree_leaves(things) if isinstance(t, Tensor) and is_float(t)]
