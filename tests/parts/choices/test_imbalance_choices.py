"""What the plan does about classes of very different size."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from torchstone.parts.choices.imbalance import choose_imbalance, effective_number_weights, inverse_weights


def fields(**facts: object) -> dict[str, object]:
    return {choice.field: choice.value for choice in choose_imbalance({"target": "single", **facts})}


def test_balanced_classes_are_left_alone() -> None:
    assert fields(class_counts=[900, 91]) == {}
    assert fields(class_counts=[50]) == {}
    assert fields(target="number") == {}


def test_strong_imbalance_gets_weights_and_another_metric() -> None:
    found = fields(class_counts=[900, 90])
    assert found["metric"] == "balanced_accuracy"
    rare, frequent = found["loss.options.class_weights"][1], found["loss.options.class_weights"][0]  # type: ignore[index]
    assert rare > 5 * frequent


def test_a_loss_of_the_users_gets_no_weights() -> None:
    assert fields(class_counts=[900, 9], loss="focal") == {"metric": "balanced_accuracy"}


def test_effective_number_weights_are_those_of_the_formula() -> None:
    """Cui et al. 2019, equation 2 and the normalisation of their code: weights add up to the number of classes."""
    counts, beta = [1000, 100, 10], 0.999
    raw = [(1 - beta) / (1 - beta**n) for n in counts]
    expected = [value * 3 / sum(raw) for value in raw]
    assert effective_number_weights(counts) == pytest.approx(expected, rel=1e-3)
    assert sum(effective_number_weights(counts)) == pytest.approx(3, rel=1e-3)


def test_beta_zero_weighs_all_alike_and_beta_near_one_is_the_inverse() -> None:
    assert effective_number_weights([500, 5], beta=0.0) == [1.0, 1.0]
    near = effective_number_weights([500, 5], beta=1 - 1e-9)
    assert near[1] / near[0] == pytest.approx(100, rel=1e-2)


def test_inverse_weights_are_scikit_learns_balanced() -> None:
    labels = [0] * 30 + [1] * 5 + [2] * 15
    expected = compute_class_weight("balanced", classes=np.arange(3), y=labels)
    assert inverse_weights([30, 5, 15]) == pytest.approx(expected)


def test_a_class_without_examples_weighs_nothing() -> None:
    assert effective_number_weights([10, 0, 10]) == [1.0, 0.0, 1.0]
    assert inverse_weights([10, 0, 10])[1] == 0.0
