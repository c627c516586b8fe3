"""Simple predictors against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from torchstone.parts.baselines.boosted_trees import boosted_trees
from torchstone.parts.baselines.naive_bayes import naive_bayes
from torchstone.parts.baselines.nearest import nearest
from torchstone.parts.baselines.prior import prior
from torchstone.parts.baselines.ridge import PENALTY, ridge


def test_prior_is_the_frequency_the_label_rate_or_the_median() -> None:
    assert prior("abcd", np.array([0, 0, 0, 2]), "xy", 3).tolist() == [[0.75, 0.0, 0.25]] * 2
    assert prior("ab", np.array([[1, 0], [1, 1]]), "x", 2).tolist() == [[1.0, 0.5]]
    assert prior("abc", np.array([1.0, 9.0, 2.0]), "xy", 0).tolist() == [2.0, 2.0]


def test_ridge_is_scikit_learns_ridge_on_standardised_columns() -> None:
    x, y = load_diabetes(return_X_y=True)
    ours = ridge(x[:300], y[:300], x[300:], 0)
    scaler = StandardScaler().fit(x[:300])
    reference = Ridge(alpha=PENALTY * 300).fit(scaler.transform(x[:300]), y[:300])
    assert np.allclose(ours, reference.predict(scaler.transform(x[300:])))


def test_ridge_for_classes_gives_probabilities_that_separate_wine() -> None:
    x, y = load_wine(return_X_y=True)
    even = np.arange(len(y)) % 2 == 0
    scores = ridge(x[even], y[even], x[~even], 3)
    assert np.allclose(scores.sum(1), 1)
    assert (scores.argmax(1) == y[~even]).mean() > 0.95


def test_ridge_bears_gaps_and_constant_columns() -> None:
    x = np.array([[1.0, 5.0, np.nan], [2.0, 5.0, 1.0], [3.0, 5.0, np.nan], [4.0, 5.0, 0.0]])
    scores = ridge(x, np.array([1.0, 2.0, 3.0, 4.0]), x, 0)
    assert np.isfinite(scores).all()
    assert abs(scores[0] - 1) < 0.2


def test_boosted_trees_are_scikit_learns_for_a_number_and_for_classes() -> None:
    x, y = load_diabetes(return_X_y=True)
    reference = HistGradientBoostingRegressor(early_stopping=False, random_state=0).fit(x[:300], y[:300])
    assert np.allclose(boosted_trees(x[:300], y[:300], x[300:], 0), reference.predict(x[300:]))
    x, y = load_wine(return_X_y=True)
    even = np.arange(len(y)) % 2 == 0
    classes = HistGradientBoostingClassifier(early_stopping=False, random_state=0).fit(x[even], y[even])
    assert np.allclose(boosted_trees(x[even], y[even], x[~even], 3), classes.predict_proba(x[~even]))


def test_boosted_trees_bear_gaps_absent_classes_and_labels_that_never_vary() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 3))
    target = np.where(x[:, 0] > 0, 2, 0)  # class 1 of 3 is absent
    x[::7, 1] = np.nan
    scores = boosted_trees(x[:80], target[:80], x[80:], 3)
    assert np.allclose(scores.sum(1), 1)
    assert (scores[:, 1] == 0).all()
    assert (scores.argmax(1) == target[80:]).mean() > 0.9
    labels = np.stack([x[:, 0] > 0, x[:, 2] > 0, np.ones(120, dtype=bool)], axis=1).astype(np.uint8)
    found = boosted_trees(x[:80], labels[:80], x[80:], 3)
    assert ((found > 0.5) == labels[80:])[:, :2].mean() > 0.9
    assert (found[:, 2] == 1).all()


def test_boosted_trees_stop_growing_when_their_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchstone.parts.baselines.boosted_trees.LIMIT_S", 0.0)
    x, y = load_diabetes(return_X_y=True)
    few = HistGradientBoostingRegressor(max_iter=10, early_stopping=False, random_state=0).fit(x[:300], y[:300])
    assert np.allclose(boosted_trees(x[:300], y[:300], x[300:], 0), few.predict(x[300:]))


def test_naive_bayes_is_scikit_learns() -> None:
    texts = ["red apple", "green apple", "fast car", "red car", "slow car fast", "apple pie apple"]
    target = np.array([0, 0, 1, 1, 1, 0])
    other = ["red pie", "slow apple car", "unknown words", ""]
    vectors = CountVectorizer(ngram_range=(1, 2), token_pattern=r"\w+")
    reference = MultinomialNB(class_prior=[4 / 8, 4 / 8]).fit(vectors.fit_transform(texts), target)
    expected = reference.predict_proba(vectors.transform(other))
    assert np.allclose(naive_bayes(texts, target, other, 2), expected)


def test_nearest_is_scikit_learns_on_digits() -> None:
    x, y = load_digits(return_X_y=True)
    ours = nearest(x[:1000], y[:1000], x[1000:], 10)
    reference = KNeighborsClassifier(5).fit(x[:1000], y[:1000]).predict_proba(x[1000:])
    assert np.abs(ours - reference).max(axis=1).mean() < 0.01  # equal but for ties in distance


@pytest.mark.parametrize("num", [1, 3])
def test_nearest_with_fewer_examples_than_neighbours(num: int) -> None:
    x = np.arange(float(num))[:, None]
    assert nearest(x, np.zeros(num, dtype=np.int64), x, 2)[:, 0].tolist() == [1.0] * num
