"""What the plan must know of the data, as plain numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torchstone.core.dataset import Dataset
from torchstone.core.task import Task
from torchstone.parts.choices.text import measure_texts

if TYPE_CHECKING:
    import numpy as np

# How many examples are looked at for sizes and lengths: quantiles of so many are near enough to plan with.
SAMPLE = 2000


def facts_of(dataset: Dataset, task: Task) -> dict[str, Any]:
    """Counts, balance, lengths and resolution.

    num_train, num_validation, num_test, num_classes, target; smallest_class, largest_class, class_counts (training
    examples);
    a number as target: target_outliers, target_robust_std, target_kurtosis (see `spread_of`);
    pictures: median_height, median_width (pixels), channels; texts: words_p50, words_p99;
    tables: num_numbers, num_categories, num_columns.
    """
    import numpy as np

    train = dataset.rows("train")
    facts: dict[str, Any] = {
        "num_train": len(train),
        "num_validation": len(dataset.rows("validation")),
        "num_test": len(dataset.rows("test")),
        "num_classes": len(dataset.classes),
        "target": task.target,
        "modality": task.modality,
    }
    if task.target == "single":
        sizes = np.bincount(dataset.target[train], minlength=len(dataset.classes))
        facts |= {"smallest_class": int(sizes.min()), "largest_class": int(sizes.max())}
        facts["class_counts"] = sizes.tolist()
    if task.target == "number":
        facts |= spread_of(dataset.target[train])
    sample = train[np.linspace(0, len(train) - 1, min(SAMPLE, len(train))).astype(np.int64)]
    looks = {"image": _picture_facts, "text": _text_facts, "table": _table_facts}
    return facts | looks[task.modality](dataset, sample)


def spread_of(target: np.ndarray) -> dict[str, float | None]:
    """How far numbers lie apart, float [N] → plain numbers, finite ones counted alone.

    target_outliers: share beyond Tukey's outer fences, 3 IQR outside the quartiles (Tukey 1977); None where half of
    the numbers are equal. target_robust_std: IQR / 1.349, which is the standard deviation of a normal law, in
    standard deviations of the target: 1 for a normal law, less with outliers; None where that is 0.
    target_kurtosis: the fourth standardised moment less 3; None without spread.
    """
    import numpy as np

    finite = target[np.isfinite(target)].astype(np.float64)
    low, high = np.quantile(finite, [0.25, 0.75]) if len(finite) else (0.0, 0.0)
    width, std = float(high - low), float(finite.std()) if len(finite) else 0.0
    if not width or not std:
        return {"target_outliers": None, "target_robust_std": None, "target_kurtosis": None}
    is_far = (finite < low - 3 * width) | (finite > high + 3 * width)
    return {
        "target_outliers": float(is_far.mean()),
        "target_robust_std": width / 1.349 / std,
        "target_kurtosis": float((((finite - finite.mean()) / std) ** 4).mean() - 3),
    }


def _picture_facts(dataset: Dataset, sample: np.ndarray) -> dict[str, Any]:
    import numpy as np
    from PIL import Image

    column = dataset.columns("image")[0]
    sizes, grey = [], True
    for path in dataset.inputs[column][sample]:
        with Image.open(path) as picture:  # reads the header alone
            sizes.append(picture.size)
            grey = grey and picture.mode in ("1", "L", "I;16", "I", "F")
    width, height = np.median(np.array(sizes), axis=0)
    return {"median_width": int(width), "median_height": int(height), "channels": 1 if grey else 3}


def _text_facts(dataset: Dataset, sample: np.ndarray) -> dict[str, Any]:
    return {**measure_texts(dataset.take(sample).texts())}


def _table_facts(dataset: Dataset, sample: np.ndarray) -> dict[str, Any]:
    kinds = list(dataset.kinds.values())
    numbers, categories = kinds.count("number"), kinds.count("category")
    return {"num_numbers": numbers, "num_categories": categories, "num_columns": len(kinds)}
