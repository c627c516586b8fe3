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
    sample = train[np.linspace(0, len(train) - 1, min(SAMPLE, len(train))).astype(np.int64)]
    looks = {"image": _picture_facts, "text": _text_facts, "table": _table_facts}
    return facts | looks[task.modality](dataset, sample)


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
