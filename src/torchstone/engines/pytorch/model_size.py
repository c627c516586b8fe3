"""What a model weighs and what it keeps for its backward pass, counted without holding a byte of it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from torchstone.core import catalog
from torchstone.core.errors import StoneError
from torchstone.core.task import Modality
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.recompute import blocks, recompute

MODELS = "torchstone.engines.pytorch.models"
# Examples of the trial pass: two, since BatchNorm refuses one.
TRIAL = 2
# Tokens of the trial pass of a recurrent net, whose every step is an operation of its own; what it keeps grows in
# proportion to its tokens.
FEW_TOKENS = 16


@dataclass(frozen=True)
class ModelSize:
    """parameters: elements, trained or not; weight_bytes: theirs and those of buffers.

    kept_bytes: what one example keeps until the backward pass, in float32; recomputed_bytes: the same where blocks are
    computed anew (with the largest block's own); both None where the model cannot run without data. num_blocks:
    blocks that can be computed anew. last_operation: what made the output, by autograd's name (`AddmmBackward0`), None
    where it cannot be known.
    """

    parameters: int
    weight_bytes: int
    kept_bytes: int | None
    recomputed_bytes: int | None
    num_blocks: int
    last_operation: str | None


def about(
    *, num_outputs: int, channels: int, size: int, vocabulary: int, max_length: int, numbers: int, categories: int
) -> Shape:
    """The shape before the encoding is learnt: each of the columns of categories counts as one with 50 of them."""
    return Shape(num_outputs, channels, size, vocabulary, max_length, numbers, (50,) * categories)


def size_of(name: str, shape: Shape, options: Mapping[str, Any], modality: Modality) -> ModelSize | None:
    """The size of a model part for inputs of `shape`, by a pass on torch's meta device: shapes and no numbers.

    options: of the part; given weights are not read. None for inputs that are neither pictures, texts nor tables, and
    for a part that cannot be built without data. Raises StoneError where the part refuses its options.
    """
    if modality not in ("image", "text", "table"):
        return None
    model = on_meta(name, shape, options)
    if model is None:
        return None
    tokens = min(shape.max_length, FEW_TOKENS) if _is_recurrent(model) else shape.max_length
    inputs = _inputs(shape, tokens, modality)
    grown = shape.max_length / tokens if tokens else 1.0
    kept, last = _kept_bytes(model, inputs)
    num_blocks, again = len(blocks(model)), None
    if kept is not None and num_blocks:
        recompute(model)
        outside, _ = _kept_bytes(model, inputs)
        again = None if outside is None else outside + (kept - outside) // num_blocks
    parameters = list(model.parameters())
    weight_bytes = sum(tensor.nbytes for tensor in [*parameters, *model.buffers()])
    kept_one, again_one = (None if value is None else int(value * grown / TRIAL) for value in (kept, again))
    return ModelSize(sum(p.numel() for p in parameters), weight_bytes, kept_one, again_one, num_blocks, last)


def on_meta(name: str, shape: Shape, options: Mapping[str, Any]) -> nn.Module | None:
    """A model part with its shapes and names and no numbers; given weights are not read.

    None for a part that cannot be built without data. Raises StoneError where the part refuses its options.
    """
    part = catalog.find(MODELS, name)
    known = {option.name for option in catalog.options(part)}
    # weights are large to read, and no number of theirs counts here
    given = {key: value for key, value in {**options, "weights": None}.items() if key in known}
    try:
        with torch.device("meta"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a width of 0 is told as an error, with its place
            model: nn.Module = part(shape, **given)
    except (ValueError, AssertionError, ArithmeticError) as error:
        raise StoneError(f"the model cannot be built: {error}", where=f"model {name}") from error
    except (TypeError, RuntimeError, NotImplementedError):  # it asks for a number, which the meta device has none of
        return None
    return model


def _is_recurrent(model: nn.Module) -> bool:
    return any(isinstance(module, nn.RNNBase) for module in model.modules())


def _inputs(shape: Shape, tokens: int, modality: Modality) -> tuple[Tensor, ...]:
    if modality == "image":
        return (torch.empty(TRIAL, shape.channels, shape.size, shape.size, device="meta"),)
    if modality == "text":
        return (torch.zeros(TRIAL, tokens, dtype=torch.int64, device="meta"),)
    numbers = torch.empty(TRIAL, shape.numbers, device="meta")
    return numbers, torch.zeros(TRIAL, len(shape.categories), dtype=torch.int64, device="meta")


def _kept_bytes(model: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[int | None, str | None]:
    """Bytes of all storages that autograd keeps for the backward pass, each once, without the weights' own.

    With them the name of the last operation; both None where the model cannot run.
    """
    own = {tensor.untyped_storage()._cdata for tensor in [*model.parameters(), *model.buffers()]}
    kept: dict[int, torch.UntypedStorage] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            kept[storage._cdata] = storage  # held, so that no address comes twice
        return tensor

    model.train()
    try:
        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            output = model(*inputs)
    except (RuntimeError, NotImplementedError):  # it asks for a number, which the meta device has none of
        return None, None
    last = output.grad_fn.name() if isinstance(output, Tensor) and output.grad_fn is not None else None
    del output
    return sum(storage.nbytes() for storage in kept.values()), last
