"""New rows of rare classes, and then none at the border."""

from __future__ import annotations

from torchstone.parts.resamplers import Resampled, Resampler, Rows
from torchstone.parts.resamplers._imblearn import check_smote, made_between, outside_links


def smote_tomek(*, neighbors: int = 5, share: float = 1.0) -> Resampler:
    """Rare classes grow as by smote, then every row in a Tomek link is left out, real or made.

    By imbalanced-learn (extra `imbalance`), as its SMOTETomek does it. Source: Batista et al. 2004, A study of the
    behavior of several methods for balancing machine learning training data. Errors and options: those of `smote`.

    neighbors: how many of the nearest a new row may lie towards; 5 is the paper's.
    share: classes grow to this share of the largest; above 0, at most 1.
    """
    check_smote(neighbors, share)

    def resample(rows: Rows, seed: int) -> Resampled:
        import numpy as np

        made = made_between(rows, seed, neighbors=neighbors, share=share)
        both = Rows(
            np.concatenate([rows.numbers, made.numbers]), np.concatenate([rows.categories, made.categories]),
            np.concatenate([rows.labels, made.labels]),
        )  # fmt: skip
        kept = outside_links(both, classes="all")
        is_made = kept >= len(rows.labels)
        mine = kept[is_made] - len(rows.labels)
        return Resampled(kept[~is_made], Rows(made.numbers[mine], made.categories[mine], made.labels[mine]))

    return resample
