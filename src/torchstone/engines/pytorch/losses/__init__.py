"""Losses: each returns (sum, weight), so that gradients can be divided once by the true total."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from torchstone.core.errors import StoneError

if TYPE_CHECKING:
    from torch import Tensor, nn

# logits [B, K], target → (sum over the targets that count, their total weight: a number or a 0-dim tensor)
Loss = Callable[["Tensor", "Tensor"], "tuple[Tensor, Tensor | float]"]

# torch's cross-entropy ignores -100 unless told otherwise; a number that no target has makes it refuse every wrong
# index instead.
IGNORES_NONE = -(2**63)


def full(logits: Tensor) -> Tensor:
    """The logits in at least single precision: a sum over a batch overflows in float16 and is coarse in bfloat16."""
    return logits if logits.element_size() >= 4 else logits.float()


def like(target: Tensor, logits: Tensor) -> Tensor:
    """The target in the type of the logits; `to` alone costs a microsecond even where there is nothing to do."""
    return target if target.dtype == logits.dtype else target.to(logits.dtype)


def paired(logits: Tensor, target: Tensor) -> Tensor:
    """The logits in the shape of `target`: equal, or with one last axis of length 1 that is dropped.

    Raises StoneError for every other pair of shapes. Subtracting [B, 1] and [B] would broadcast to [B, B] and train
    towards the mean without a word.
    """
    shape, wanted = logits.shape, target.shape
    if shape == wanted:
        return logits
    if shape[-1] == 1 and len(shape) == len(wanted) + 1 and shape[:-1] == wanted:
        return logits.squeeze(-1)
    raise StoneError(
        f"the model gives {tuple(logits.shape)}, the target has shape {tuple(target.shape)}; they must be equal",
        where="loss", fix="check the number of outputs of the model against the number of target values",
    )


def aligned(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both in one shape (`paired`) and one type (`full`, `like`), in one call: small batches feel every call."""
    wanted = target.shape
    if logits.shape == (*wanted, 1):
        logits = logits.squeeze(-1)
    elif logits.shape != wanted:
        paired(logits, target)
    kind = logits.dtype
    if kind is not target.dtype or logits.element_size() < 4:
        logits = full(logits)
        target = like(target, logits)
    return logits, target


def check_smoothing(label_smoothing: float) -> None:
    """Raises StoneError for a share of label smoothing that is not from 0 to 1."""
    if not 0 <= label_smoothing <= 1:
        raise StoneError(f"label_smoothing is {label_smoothing:g}; it must be from 0 to 1",
                         where="loss.label_smoothing", fix="0.1 is usual; 0 is off")


def check_weights(option: str, weights: Sequence[float] | None) -> None:
    """Raises StoneError for weights of classes or labels of which one is below 0 or none above: no loss is left."""
    if weights is not None and not (all(weight >= 0 for weight in weights) and any(weights)):
        raise StoneError(f"{option} is {list(weights)}; each must be 0 or above, and one above 0",
                         where=f"loss.{option}", fix="give one number per class, or leave it out for equal ones")


def check_number(option: str, given: int, wanted: int) -> None:
    """Raises StoneError where an option has another number of values than the model gives outputs."""
    if given != wanted:
        raise StoneError(f"{option} has {given} numbers, the model gives {wanted} for each example",
                         where=f"loss.{option}", fix=f"give {wanted}, in the order of the classes")


def whole_batch(loss: Any) -> Any:
    """The loss, marked as one that is no sum over examples: it compares examples of a batch with one another.

    Such a loss gives another value when its batch is cut into micro-batches, so that it cannot be accumulated.
    """
    loss.needs_whole_batch = True
    return loss


def needs_whole_batch(loss: Any) -> bool:
    """Whether the loss compares the examples of a batch, so that a batch must not be cut (`train.accumulate` 1)."""
    return bool(getattr(loss, "needs_whole_batch", False))


def made_for(what: str) -> Callable[[Any], Any]:
    """Marks a part as a loss that does not take one output per class or number, and says what it takes instead."""

    def mark(part: Any) -> Any:
        part.takes = what
        return part

    return mark


def takes(part: Any) -> str:
    """What the losses of a part take: `scores`, one output per class, label or number, unless it says otherwise.

    A run by recipe can give scores, and `cosines` through the head that `heads.py` adds; the rest (`embeddings`,
    `pairs of embeddings`, `two views of each example`, …) is for a loop of one's own.
    """
    return str(getattr(part, "takes", "scores"))


def with_weights_of(loss: Any, model: nn.Module) -> nn.Module:
    """The model, which now also owns the weights of the loss (a learnt temperature), under the name `loss_weights`.

    So they are moved, summed over ranks, given to the optimizer, saved and restored as every other weight. A loss
    without weights leaves the model as it is. Call it before the model meets strategy, optimizer and average.
    """
    from torch import nn

    if isinstance(loss, nn.Module) and any(True for _ in loss.parameters()):
        model.add_module("loss_weights", loss)
    return model
