"""SMOTE and Tomek links against imbalanced-learn called by hand."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from imblearn.combine import SMOTETomek
from imblearn.over_sampling import SMOTE, SMOTEN, SMOTENC
from imblearn.under_sampling import TomekLinks
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from torchstone.core.errors import StoneError
from torchstone.parts.resamplers import Resampled, Rows
from torchstone.parts.resamplers.smote import smote
from torchstone.parts.resamplers.smote_tomek import smote_tomek
from torchstone.parts.resamplers.tomek import tomek

RNG = np.random.default_rng(0)


def tumours(num_categories: int = 0, num_numbers: int = 30) -> Rows:
    """Scaled numbers of breast_cancer with few malignant ones, and categories that go along with the class."""
    data = load_breast_cancer()
    rows = np.concatenate([np.flatnonzero(data.target == 1), np.flatnonzero(data.target == 0)[:40]])
    numbers = StandardScaler().fit_transform(data.data)[rows, :num_numbers].astype(np.float32)
    labels = data.target[rows].astype(np.int64)
    categories = (labels[:, None] + RNG.integers(0, 3, (len(rows), num_categories))).astype(np.int64)
    return Rows(numbers, categories, labels)


def whole(rows: Rows, result: Resampled) -> tuple[np.ndarray, np.ndarray]:
    """What is learnt from: columns [M + S, D + C] and labels, as imbalanced-learn gives them."""
    before = np.hstack([rows.numbers, rows.categories])
    made = np.hstack([result.made.numbers, result.made.categories])
    return np.vstack([before[result.kept], made]), np.concatenate([rows.labels[result.kept], result.made.labels])


def test_smote_is_imbalanced_learns() -> None:
    rows = tumours()
    numbers, labels = whole(rows, smote()(rows, 7))
    expected, expected_labels = SMOTE(random_state=7).fit_resample(rows.numbers, rows.labels)
    np.testing.assert_array_equal(numbers, expected)
    np.testing.assert_array_equal(labels, expected_labels)
    assert np.bincount(labels).tolist() == [357, 357]


def test_beside_categories_it_is_smotenc() -> None:
    rows = tumours(num_categories=2)
    columns, labels = whole(rows, smote(neighbors=3)(rows, 1))
    method = SMOTENC([30, 31], random_state=1, k_neighbors=3)
    expected, expected_labels = method.fit_resample(np.hstack([rows.numbers, rows.categories]), rows.labels)
    np.testing.assert_allclose(columns, expected, atol=1e-6)
    np.testing.assert_array_equal(labels, expected_labels)
    made = smote(neighbors=3)(rows, 1).made
    assert set(np.unique(made.categories)) <= set(np.unique(rows.categories[rows.labels == 0])), "an invented category"


def test_categories_alone_are_smoten() -> None:
    rows = tumours(num_categories=3, num_numbers=0)
    columns, _ = whole(rows, smote()(rows, 2))
    np.testing.assert_array_equal(columns, SMOTEN(random_state=2).fit_resample(rows.categories, rows.labels)[0])


def test_tomek_leaves_out_what_imbalanced_learn_leaves_out() -> None:
    rows = tumours(num_numbers=2)
    result = tomek()(rows, 0)
    method = TomekLinks().fit(rows.numbers, rows.labels)
    method.fit_resample(rows.numbers, rows.labels)
    np.testing.assert_array_equal(result.kept, method.sample_indices_)
    assert 0 < len(rows.labels) - len(result.kept) < 40
    assert len(result.made.labels) == 0
    assert (rows.labels[result.kept] == 0).sum() == 40, "a row of the smallest class was left out"


def test_smote_tomek_is_imbalanced_learns() -> None:
    rows = tumours(num_numbers=3)
    columns, labels = whole(rows, smote_tomek()(rows, 5))
    expected, expected_labels = SMOTETomek(random_state=5).fit_resample(rows.numbers, rows.labels)
    np.testing.assert_array_equal(columns, expected)
    np.testing.assert_array_equal(labels, expected_labels)


def test_another_category_is_as_far_as_one_deviation() -> None:
    """Three rows on a line: without categories 0 and 1 are each other's nearest, with them 1 and 2 are."""
    numbers = np.array([[0.0], [0.5], [1.2]], dtype=np.float32)
    labels, codes = np.array([0, 1, 1]), np.array([[0], [4], [4]])
    assert tomek(classes="all")(Rows(numbers, codes[:, :0], labels), 0).kept.tolist() == [2]
    assert tomek(classes="all")(Rows(numbers, codes, labels), 0).kept.tolist() == [0, 1, 2]


def test_a_share_is_how_far_classes_grow() -> None:
    rows = tumours()
    assert np.bincount(whole(rows, smote(share=0.5)(rows, 0))[1]).tolist() == [round(0.5 * 357), 357]
    assert len(smote(share=0.1)(rows, 0).made.labels) == 0, "a class that is large enough does not grow"


def test_the_seed_alone_decides() -> None:
    rows = tumours()
    first, again, other = (smote()(rows, seed).made.numbers for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_class_with_too_few_rows_is_refused_with_what_would_do() -> None:
    rows = tumours()
    few = np.concatenate([np.arange(50), [len(rows.labels) - 1, len(rows.labels) - 2, len(rows.labels) - 3]])
    small = Rows(rows.numbers[few], rows.categories[few], rows.labels[few])
    with pytest.raises(StoneError, match="3 training rows") as caught:
        smote()(small, 0)
    assert caught.value.fix == "set data.resample.neighbors to 2 or less"
    assert len(smote(neighbors=2)(small, 0).made.labels) == 47


@pytest.mark.parametrize("wrong", [{"neighbors": 0}, {"share": 0.0}, {"share": 1.5}])
def test_options_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    for part in (smote, smote_tomek):
        with pytest.raises(StoneError, match="must be"):
            part(**wrong)  # type: ignore[arg-type]
    with pytest.raises(StoneError, match="frequent and all"):
        tomek(classes="rare")  # type: ignore[arg-type]


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "imblearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "imblearn", None)
    with pytest.raises(StoneError, match="imbalanced-learn") as caught:
        smote()(tumours(), 0)
    assert caught.value.fix == "pip install 'torchstone[imbalance]'"
