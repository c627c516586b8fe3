"""New rows of rare classes, between the rows that there are."""

from __future__ import annotations

from torchstone.parts.resamplers import Resampled, Resampler, Rows
from torchstone.parts.resamplers._imblearn import check_smote, made_between


def smote(*, neighbors: int = 5, share: float = 1.0) -> Resampler:
    """Rare classes grow by rows made between a row and one of its nearest of the same class.

    By imbalanced-learn (extra `imbalance`): SMOTE; SMOTENC where there are categories, which come from the nearest
    rows' majority; SMOTEN for categories alone. Sources: Chawla et al. 2002, sections 4 and 6. Raises StoneError for
    options out of range and for a class with no more rows than `neighbors`.

    neighbors: how many of the nearest a new row may lie towards; 5 is the paper's.
    share: classes grow to this share of the largest; above 0, at most 1.
    """
    check_smote(neighbors, share)

    def resample(rows: Rows, seed: int) -> Resampled:
        import numpy as np

        made = made_between(rows, seed, neighbors=neighbors, share=share)
        return Resampled(np.arange(len(rows.labels)), made)

    return resample
