"""Which examples say the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torchstone.core.dataset import ColumnKind

if TYPE_CHECKING:
    import numpy as np


def same_input(inputs: Mapping[str, np.ndarray], kinds: Mapping[str, ColumnKind], groups: np.ndarray) -> np.ndarray:
    """Numbers int64 [N]: equal where inputs are the same to a reader; what a split must keep together.

    Where all columns are text, texts that differ only by case or blanks are the same (7 test texts of banking77
    stand in its train part but for a line break); otherwise `groups`, which compare exactly.
    """
    import numpy as np

    if not kinds or set(kinds.values()) != {"text"} or len(groups) == 0:
        return groups
    number: dict[tuple[str, ...], int] = {}
    rows = zip(*(inputs[name] for name in kinds), strict=True)
    keys = (tuple(_folded(text) for text in row) for row in rows)
    return np.array([number.setdefault(key, len(number)) for key in keys], dtype=np.int64)


def _folded(text: object) -> str:
    return " ".join(str(text or "").casefold().split())
