"""What simple predictors reach on the validation part: a model is worth what it adds to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchstone.core.catalog import find
from torchstone.core.dataset import Dataset
from torchstone.core.errors import StoneError
from torchstone.core.task import Task
from torchstone.parts import metrics
from torchstone.parts.choices.which_model import TREES_WIN_BELOW

if TYPE_CHECKING:
    import numpy as np

FOLDER = "torchstone.parts.baselines"
# How many examples are learnt from and judged at most: a baseline is to cost seconds.
MOST_TRAIN, MOST_JUDGED, MOST_COLUMNS, MOST_PICTURES = 20_000, 5_000, 300, 2_000
THUMBNAIL = 16  # pixels a side


def baselines(dataset: Dataset, task: Task, *, seed: int = 0) -> list[dict[str, Any]]:
    """One row per predictor: {"name", "n_train", "n", "metrics": {name: value}}; empty without a validation part.

    The prior always; for tables ridge regression and, below 100,000 training rows, boosted trees; for texts with one
    class naive Bayes, for pictures with one class the nearest neighbours of thumbnails. Larger parts are sampled. A
    predictor whose package is not installed has no metrics and says in "missing" what to install.
    """
    train, judged = _sample(dataset.rows("train"), MOST_TRAIN, seed), dataset.rows("validation")
    judged = _sample(judged, MOST_JUDGED, seed)
    if not len(judged) or not len(train):
        return []
    return [
        _row(name, inputs, dataset, task, rows, judged)
        for name, rows, inputs in _predictors(dataset, task, train, judged, seed)
    ]


def _predictors(
    dataset: Dataset, task: Task, train: np.ndarray, judged: np.ndarray, seed: int
) -> Iterator[tuple[str, np.ndarray, tuple[Any, Any]]]:
    yield "prior", train, (train, judged)
    if task.modality == "table":
        columns = _columns(dataset, train)
        if columns.shape[1]:
            yield "ridge", train, (columns[train], columns[judged])
            every = dataset.rows("train")
            if len(every) < TREES_WIN_BELOW:
                yield "boosted_trees", every, (columns[every], columns[judged])
    elif task.target == "single" and task.modality == "text":
        yield "naive_bayes", train, (dataset.take(train).texts(), dataset.take(judged).texts())
    elif task.target == "single" and task.modality == "image":
        few = _sample(train, MOST_PICTURES, seed)
        yield "nearest", few, (_thumbnails(dataset, few), _thumbnails(dataset, judged))


def _row(
    name: str, inputs: tuple[Any, Any], dataset: Dataset, task: Task, train: np.ndarray, judged: np.ndarray
) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "n_train": len(train), "n": len(judged)}
    try:
        scores = find(FOLDER, name)(inputs[0], dataset.target[train], inputs[1], len(dataset.classes))
    except StoneError as error:  # a package of an extra that is not installed
        return {**row, "metrics": {}, "missing": error.fix or error.what}
    values = {m: find("torchstone.parts.metrics", m)(scores, dataset.target[judged]) for m in
              metrics.metrics_for(task.target)}  # fmt: skip
    return {**row, "metrics": values}


def _sample(rows: np.ndarray, most: int, seed: int) -> np.ndarray:
    import numpy as np

    if len(rows) <= most:
        return rows
    return np.sort(np.random.Generator(np.random.Philox(key=seed)).choice(rows, most, replace=False))


def _columns(dataset: Dataset, train: np.ndarray) -> np.ndarray:
    """Numbers as they are and the most frequent categories as indicators, float64 [N, D <= MOST_COLUMNS]."""
    import numpy as np

    columns = [dataset.inputs[name].astype(np.float64) for name in dataset.columns("number")]
    for name in dataset.columns("category"):
        values = dataset.inputs[name]
        known, counts = np.unique([str(v) for v in values[train]], return_counts=True)
        for value in known[np.argsort(-counts)][:20]:
            columns.append(np.array([str(v) == value for v in values], dtype=np.float64))
    shown = columns[:MOST_COLUMNS]
    return np.stack(shown, axis=1) if shown else np.zeros((len(dataset), 0))


def _thumbnails(dataset: Dataset, rows: np.ndarray) -> np.ndarray:
    """Thumbnails in colour, float32 [M, 768], each with mean 0: brightness is no class."""
    import numpy as np
    from PIL import Image

    column = dataset.columns("image")[0]
    pixels = np.zeros((len(rows), THUMBNAIL * THUMBNAIL * 3), dtype=np.float32)
    for place, path in enumerate(dataset.inputs[column][rows]):
        with Image.open(path) as picture:
            picture.draft("RGB", (THUMBNAIL, THUMBNAIL))
            small = picture.convert("RGB").resize((THUMBNAIL, THUMBNAIL), Image.Resampling.BOX)
            pixels[place] = np.asarray(small, dtype=np.float32).reshape(-1)
    pixels -= pixels.mean(axis=1, keepdims=True)
    return pixels
