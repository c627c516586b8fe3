"""Columns by kind, and what a text model reads of a row."""

from __future__ import annotations

import numpy as np

from torchstone.core.dataset import Dataset


def test_columns_keep_the_order_of_the_model_and_texts_are_joined_line_by_line() -> None:
    column = {
        "title": np.array(["a", None], dtype=object), "size": np.array([1.0, 2.0]),
        "body": np.array(["x y", "z"], dtype=object),
    }  # fmt: skip
    dataset = Dataset(
        task="text-classification", source="", ids=np.array(["1", "2"]), where=np.array(["1", "2"]), inputs=column,
        kinds={"title": "text", "size": "number", "body": "text"}, target=np.array([0, 1]), target_name="label",
        classes=("n", "y"), split=np.array(["train", "test"]), groups=np.arange(2), digest="",
    )  # fmt: skip
    assert dataset.columns("text") == ["title", "body"]
    assert dataset.columns("number") == ["size"]
    assert dataset.columns("image") == []
    assert dataset.texts() == ["a\nx y", "\nz"]
    assert dataset.take(np.array([1])).texts() == ["\nz"]
