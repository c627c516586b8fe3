"""Trees, each of which mends what those before it left wrong."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from torchstone.core.errors import missing_extra

if TYPE_CHECKING:
    import numpy as np

# Seconds after which no more trees are added, and trees that are added between two looks at the clock.
LIMIT_S, STEP = 10.0, 10
MOST_TREES = 100  # scikit-learn's default
# Cells up to which one thread grows the trees: on small tables threads wait for each other, on a busy machine for
# seconds (300 x 4 cells, load 11 on two cores: 0.4 s with one thread, 10 s with two; 2026-12-02).
FEW_CELLS = 1_000_000


def boosted_trees(train: np.ndarray, target: np.ndarray, other: np.ndarray, num_classes: int) -> np.ndarray:
    """Gradient boosting over histograms (Friedman 2001; Ke et al. 2017, LightGBM), by scikit-learn, as it comes.

    train float [N, D], other float [M, D], NaN allowed. Targets are numbers, classes, or labels [N, K], for which one
    model each is grown. At most 100 trees, fewer where 10 seconds are over: then those that are there count. Raises
    StoneError without the extra `trees`.
    """
    try:
        from sklearn import ensemble
    except ImportError:
        raise missing_extra("scikit-learn", "trees", "the baseline of boosted trees") from None
    from threadpoolctl import threadpool_limits  # scikit-learn brings it along

    with threadpool_limits(1 if train.size <= FEW_CELLS else None, user_api="openmp"):
        return _scores(ensemble, train, target, other, num_classes)


def _scores(ensemble: Any, train: np.ndarray, target: np.ndarray, other: np.ndarray, num_classes: int) -> np.ndarray:
    import numpy as np

    end = time.monotonic() + LIMIT_S
    if not num_classes:
        return np.asarray(_grown(ensemble.HistGradientBoostingRegressor, train, target, end).predict(other))
    if target.ndim == 1:
        return _shares(_grown(ensemble.HistGradientBoostingClassifier, train, target, end), other, num_classes)
    columns = []
    for label in range(num_classes):
        until = time.monotonic() + max(end - time.monotonic(), 0.0) / (num_classes - label)
        model = _grown(ensemble.HistGradientBoostingClassifier, train, target[:, label], until)
        columns.append(_shares(model, other, 2)[:, 1])
    return np.stack(columns, axis=1)


def _grown(kind: Any, train: np.ndarray, target: np.ndarray, end: float) -> Any:
    """A model of at most MOST_TREES trees, grown in steps until the clock says so."""
    import numpy as np

    if len(np.unique(target)) == 1 and hasattr(kind, "predict_proba"):
        return _Always(target[0])
    model = kind(max_iter=STEP, warm_start=True, early_stopping=False, random_state=0)
    for trees in range(STEP, MOST_TREES + 1, STEP):
        model.set_params(max_iter=trees)
        model.fit(train, target)
        if time.monotonic() > end:
            break
    return model


class _Always:
    """The one class that there is."""

    def __init__(self, label: int) -> None:
        self.classes_ = [label]

    def predict_proba(self, other: np.ndarray) -> np.ndarray:
        import numpy as np

        return np.ones((len(other), 1))


def _shares(model: Any, other: np.ndarray, num_classes: int) -> np.ndarray:
    """Probabilities [M, K], 0 for classes that training did not have."""
    import numpy as np

    shares = np.zeros((len(other), num_classes))
    shares[:, np.asarray(model.classes_, dtype=np.int64)] = model.predict_proba(other)
    return shares
