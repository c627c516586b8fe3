"""What the plan does about classes of very different size."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_class_weight

from torchstone.core.plan import Choice
from torchstone.parts.choices.imbalance import (
    choose_imbalance,
    counted_weights,
    dealt_counts,
    effective_number_weights,
    inverse_weights,
)


def fields(**facts: object) -> dict[str, object]:
    return {choice.field: choice.value for choice in choose_imbalance({"target": "single", **facts})}


def test_balanced_classes_are_left_alone() -> None:
    assert fields(class_counts=[900, 91]) == {}
    assert fields(class_counts=[50]) == {}
    assert fields(target="number") == {}


def test_strong_imbalance_gets_a_balanced_sampler_and_another_metric() -> None:
    assert fields(class_counts=[900, 90]) == {"metric": "balanced_accuracy", "sampler.name": "class_balanced"}
    (_, sampler) = choose_imbalance({"target": "single", "class_counts": [900, 90]})
    assert "10 times" in sampler.reason
    assert "KEEL" in sampler.source


def test_a_loss_of_the_users_or_weights_of_his_are_left_alone() -> None:
    assert fields(class_counts=[900, 9], loss="focal") == {"metric": "balanced_accuracy"}
    weighed = fields(class_counts=[900, 9], loss_options={"class_weights": [1.0, 9.0]})
    assert weighed == {"metric": "balanced_accuracy"}


@pytest.mark.parametrize("sampler", ["class_balanced", "oversampled", "undersampled"])
def test_a_sampler_that_makes_classes_alike_is_remedy_enough(sampler: str) -> None:
    assert fields(class_counts=[900, 9], sampler=sampler) == {"metric": "balanced_accuracy"}


def test_beside_another_sampler_of_the_users_the_logits_are_adjusted() -> None:
    found = fields(class_counts=[900, 9], sampler="curriculum")
    assert found["loss.name"] == "logit_adjusted"
    assert found["loss.options.class_counts"] == [900, 9]
    assert "sampler.name" not in found
    own = fields(class_counts=[900, 9], sampler="shuffled", loss="cross_entropy")
    assert own == {"metric": "balanced_accuracy"}, "loss and sampler are both the user's"


def test_logit_adjustment_gets_the_counts_that_are_dealt_out_whatever_they_are() -> None:
    counts = "loss.options.class_counts"
    assert fields(class_counts=[60, 50], loss="logit_adjusted")[counts] == [60, 50]
    assert fields(class_counts=[900, 9], loss="logit_adjusted")[counts] == [900, 9]
    assert "sampler.name" not in fields(class_counts=[900, 9], loss="logit_adjusted")
    half = {"sampler": "class_balanced", "sampler_options": {"power": 0.5}}
    assert fields(class_counts=[900, 9], loss="logit_adjusted", **half)[counts] == [30, 3]
    assert fields(class_counts=[900, 9], loss="logit_adjusted", resample="smote")[counts] == [900, 900]


def test_synthetic_rows_are_counted_and_nothing_is_weighed_twice() -> None:
    found = fields(class_counts=[900, 9, 0], resample="smote", resample_options={"share": 0.5})
    assert found == {"data.counts": [900, 450, 0], "metric": "balanced_accuracy"}
    less = fields(class_counts=[900, 9], resample="smote", resample_options={"share": 0.05})
    assert less["sampler.name"] == "class_balanced", "45 of 900 is still rare"
    assert fields(class_counts=[900, 9], resample="tomek")["sampler.name"] == "class_balanced"


def test_what_is_dealt_out_follows_resampler_then_sampler() -> None:
    assert dealt_counts({"class_counts": [100, 4]}) == [100.0, 4.0]
    assert dealt_counts({"class_counts": [100, 4], "sampler": "oversampled"}) == [1.0, 1.0]
    both = {"resample": "smote", "resample_options": {"share": 0.25}, "sampler": "class_balanced",
            "sampler_options": {"power": 0.5}}  # fmt: skip
    assert dealt_counts({"class_counts": [100, 4, 0], **both}) == [10.0, 5.0, 0.0]


def test_weights_asked_for_by_a_word_become_numbers() -> None:
    field = "loss.options.class_weights"
    asked = {field: Choice(field, "inverse", "user", "torchstone.yaml:3 loss.class_weights")}
    done = counted_weights(asked, {"class_counts": [30, 10]})[field]
    assert done.value == [0.6667, 2.0]
    assert done.reason == "torchstone.yaml:3 loss.class_weights: inverse"
    given = {field: Choice(field, [1.0, 2.0], "user", "")}
    assert counted_weights(given, {"class_counts": [30, 10]}) == given
    assert counted_weights({}, {}) == {}


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
    assert inverse_weights([30, 5, 15]) == pytest.approx(expected, rel=1e-3)


def test_a_class_without_examples_weighs_nothing() -> None:
    assert effective_number_weights([10, 0, 10]) == [1.0, 0.0, 1.0]
    assert inverse_weights([10, 0, 10])[1] == 0.0
