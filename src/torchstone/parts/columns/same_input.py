"""Which examples say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchstone.core.dataset import Dataset

if TYPE_CHECKING:
    import numpy as np


def same_input(dataset: Dataset) -> np.ndarray:
    """Numbers int64 [N]: equal where inputs are the same to a reader.

    Where all columns are text, texts that differ only by case or blanks are the same (7 test texts of banking77
    stand in its train part but for a line break); otherwise the dataset's own groups, which compare exactly.
    """
    import numpy as np

    if not dataset.kinds or set(dataset.kinds.values()) != {"text"} or len(dataset) == 0:
        return dataset.groups
    number: dict[tuple[str, ...], int] = {}
    columns = [dataset.inputs[name] for name in dataset.kinds]
    keys = (tuple(_folded(value) for value in values) for values in zip(*columns, strict=True))
    return np.array([number.setdefault(key, len(number)) for key in keys], dtype=np.int64)


def _folded(text: object) -> str:
    return " ".join(str(text or "").casefold().split())
