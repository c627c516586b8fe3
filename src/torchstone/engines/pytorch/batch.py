"""What the loop is fed with.

Legend of axes: B examples of a batch, K outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import torch


@dataclass(frozen=True, slots=True)
class Batch:
    """B examples: `inputs` go to the model in order, `target` to the loss, `rows` say which they are.

    target: int64 [B] class index, float32 [B, K] for several labels, float32 [B] for a number.
    """

    inputs: tuple[torch.Tensor, ...]
    target: torch.Tensor
    rows: np.ndarray


class Source(Protocol):
    """Gives batches as a pure function of row numbers and epoch, so that any of them can be made again.

    Random augmentation must be drawn from (seed, epoch, row) alone: never from a global or kept generator.
    """

    # Whether making a batch is slow enough (decoding) for worker processes to pay.
    is_heavy: bool

    @property
    def notes(self) -> Sequence[str]:
        """What a person should be told once; may grow with the first batches."""
        ...

    def __len__(self) -> int: ...

    def batch(self, rows: np.ndarray, epoch: int | None) -> Batch:
        """The examples of `rows` (int64, any order). epoch None: for evaluation, without augmentation."""
        ...


@dataclass(frozen=True)
class Shape:
    """What a model is built for.

    num_outputs: K. channels, size: pictures are [B, channels, size, size].
    vocabulary, max_length: tokens are int64 [B, T <= max_length], padding is 0.
    numbers, categories: tables are float32 [B, numbers] and int64 [B, len(categories)], where column j holds
        0 … categories[j]-1 (0 is "missing or never seen").
    config: a transformers folder's config.json, as text.
    """

    num_outputs: int
    channels: int = 0
    size: int = 0
    vocabulary: int = 0
    max_length: int = 0
    numbers: int = 0
    categories: tuple[int, ...] = ()
    config: str = ""
