"""Without the rows of frequent classes that touch another class."""

from __future__ import annotations

from typing import Literal

from torchstone.core.errors import StoneError
from torchstone.parts.resamplers import Resampled, Resampler, Rows
from torchstone.parts.resamplers._imblearn import check_installed, outside_links

_CLASSES = {"frequent": "not minority", "all": "all"}


def tomek(*, classes: Literal["frequent", "all"] = "frequent") -> Resampler:
    """Leaves out rows that are, with a row of another class, each other's nearest.

    By imbalanced-learn (extra `imbalance`): TomekLinks (Tomek 1976, Two modifications of CNN). Different categories
    are as far apart as numbers that differ by one standard deviation.

    classes: `frequent`: only rows of other classes than the smallest are left out; `all`: both rows of a link.
    """
    check_installed()
    if classes not in _CLASSES:
        raise StoneError(f"classes is '{classes}'; there are frequent and all", where="data.resample.classes")

    def resample(rows: Rows, seed: int) -> Resampled:
        kept = outside_links(rows, classes=_CLASSES[classes])
        return Resampled(kept, Rows(rows.numbers[:0], rows.categories[:0], rows.labels[:0]))

    return resample
