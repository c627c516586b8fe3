"""DAT212: targets that single precision cannot hold apart, or whose squares are infinite; plain outliers are none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from torchstone.core.dataset import Dataset
from torchstone.rules.dataset._toy import toy
from torchstone.rules.dataset.target_range_too_wide import RULE


def dataset(train: np.ndarray, validation: np.ndarray) -> Dataset:
    """A table whose target 'price' has these values."""
    target = np.concatenate([train, validation]).astype(np.float64)
    split = ["train"] * len(train) + ["validation"] * len(validation)
    made = toy([float(n) for n in range(len(target))], ["x"] * len(target), split, kind="number")
    return replace(made, task="tabular-regression", target=target, target_name="price", classes=())


def draw(num: int = 200, size: float = 1.0) -> np.ndarray:
    return np.random.default_rng(0).normal(size=num) * size


def standardised_loss(data: Dataset) -> float:
    """The squared error of always saying the training mean, as the network sees it: in single precision."""
    train = data.target[data.rows("train")]
    with np.errstate(over="ignore"):
        z = ((data.target - train.mean()) / train.std()).astype(np.float32)
        return float(np.square(z).mean())


def test_a_held_out_value_whose_square_is_infinite_is_an_error_that_names_range_and_row():
    data = dataset(draw(), np.append(draw(40), 1e30))
    assert standardised_loss(data) == np.inf
    (finding,) = RULE.check(data)
    assert finding.severity == "error"
    assert finding.where.field == "price"
    assert "to 1e+30" in finding.what
    assert "toy.csv:242, in validation" in finding.what
    assert finding.evidence["high"] == 1e30


def test_a_training_value_beside_which_all_others_are_one_is_a_warning():
    data = dataset(np.append(draw(), 1e30), draw(40))
    z = ((data.target - data.target[:201].mean()) / data.target[:201].std()).astype(np.float32)
    assert len(np.unique(z)) == 2  # what the network would learn
    assert [finding.severity for finding in RULE.check(data)] == ["warning"]


@pytest.mark.parametrize("size", [1e39, 1e200, 1e308])
def test_numbers_beyond_single_precision_are_an_error(size):
    assert [finding.severity for finding in RULE.check(dataset(draw(size=size / 4), draw(40, size / 4)))] == ["error"]


@pytest.mark.parametrize(
    ("train", "validation"),
    [
        (draw(), draw(40)),
        (draw(size=1e30), draw(40, 1e30)),  # large everywhere: standardised it is as good as any
        (draw(size=1e-30), draw(40, 1e-30)),
        (1.6e9 + draw(), 1.6e9 + draw(40)),  # seconds since 1970
        (np.exp(4 * draw()), np.exp(4 * draw(40))),  # incomes
        (np.append(draw(), 1e4), np.append(draw(40), 1e5)),  # plain outliers have other advice
        (np.where(np.arange(200) % 5 == 0, draw() ** 2, 0.0), np.zeros(40)),  # mostly zero
        (np.ones(100), np.ones(20)),
        (np.array([1.0, 2.0]), np.array([])),
    ],
)
def test_ordinary_targets_draw_none(train, validation):
    data = dataset(train, validation)
    assert list(RULE.check(data)) == []
    assert len(train) < 100 or train.std() == 0 or np.isfinite(standardised_loss(data))


def test_classes_are_not_judged():
    assert list(RULE.check(toy(["a", "b"], ["x", "y"]))) == []
