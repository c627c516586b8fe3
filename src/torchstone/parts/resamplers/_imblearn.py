"""imbalanced-learn's methods on numbers and categories.

Legend of axes: N training rows, S synthetic rows, D numbers, C categories.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections import Counter
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torchstone.core.errors import StoneError, missing_extra
from torchstone.parts.resamplers import Rows, check_counts

if TYPE_CHECKING:
    import numpy as np


def check_installed() -> None:
    """Raises StoneError where imbalanced-learn is not installed; it is not imported yet."""
    if importlib.util.find_spec("imblearn") is None:
        raise missing_extra("imbalanced-learn", "imbalance", "data.resample")


def _room(name: str) -> ModuleType:
    check_installed()
    return importlib.import_module(f"imblearn.{name}")


def made_between(rows: Rows, seed: int, *, neighbors: int, share: float) -> Rows:
    """S synthetic rows, so that each class has at least `share` times as many as the largest.

    SMOTE for numbers alone, SMOTENC where categories stand beside them, SMOTEN for categories alone. Raises
    StoneError where a class that grows has no more rows than `neighbors`.
    """
    import numpy as np

    wanted = _wanted(rows.labels, neighbors, share)
    # whole numbers below 2^24 are exact in single precision, and there are at most 50,001 categories
    columns = np.hstack([rows.numbers, rows.categories.astype(rows.numbers.dtype)])
    method = _method(rows, {"sampling_strategy": wanted, "random_state": seed % 2**32, "k_neighbors": neighbors})
    table, labels = method.fit_resample(columns, rows.labels)
    start, width = len(rows.labels), rows.numbers.shape[1]
    made = np.asarray(table)[start:]
    numbers = made[:, :width].astype(rows.numbers.dtype)
    return Rows(numbers, made[:, width:].astype(np.int64), np.asarray(labels)[start:].astype(np.int64))


def _wanted(labels: np.ndarray, neighbors: int, share: float) -> dict[int, int]:
    counts = Counter(labels.tolist())
    check_counts(list(counts.values()), neighbors=neighbors, share=share)
    largest = max(counts.values())
    return {label: max(count, round(share * largest)) for label, count in sorted(counts.items())}


def _method(rows: Rows, options: dict[str, Any]) -> Any:
    room, width = _room("over_sampling"), rows.numbers.shape[1]
    if not rows.categories.shape[1]:
        return room.SMOTE(**options)
    if not width:
        return room.SMOTEN(**options)
    return room.SMOTENC(list(range(width, width + rows.categories.shape[1])), **options)


def outside_links(rows: Rows, *, classes: str) -> np.ndarray:
    """Places of the rows that are in no Tomek link, ascending, int64.

    classes: imbalanced-learn's `sampling_strategy`: of which classes a row in a link is left out. Two different
    categories are as far apart as numbers that differ by one deviation.
    """
    import numpy as np

    method = _room("under_sampling").TomekLinks(sampling_strategy=classes)
    method.fit_resample(np.hstack([rows.numbers, *_indicators(rows)]), rows.labels)
    return np.asarray(method.sample_indices_, dtype=np.int64)


def _indicators(rows: Rows) -> list[np.ndarray]:
    import numpy as np

    kind = rows.numbers.dtype
    return [
        (column[:, None] == np.unique(column)[None, :]).astype(kind) / np.sqrt(2).astype(kind)
        for column in rows.categories.T
    ]


def check_smote(neighbors: int, share: float) -> None:
    """Raises StoneError for options that are out of range, and without imbalanced-learn."""
    check_installed()
    if neighbors < 1:
        raise StoneError(f"neighbors is {neighbors}; it must be 1 or more", where="data.resample.neighbors",
                         fix="leave it out for 5")
    if not 0 < share <= 1:
        raise StoneError(f"share is {share:g}; it must be above 0 and at most 1", where="data.resample.share",
                         fix="leave it out for 1")
