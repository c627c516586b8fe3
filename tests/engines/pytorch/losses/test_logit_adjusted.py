"""Logit adjustment against the formula of its paper, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.losses.cross_entropy import cross_entropy
from torchstone.engines.pytorch.losses.logit_adjusted import logit_adjusted
from torchstone.testing.check_loss import check_loss

RNG = np.random.default_rng(3)
LOGITS, CLASSES, COUNTS = RNG.normal(size=(9, 3)) * 2, np.array([0, 1, 2, 0, 0, 1, 2, 2, 0]), [900, 90, 10]
logits, classes = torch.tensor(LOGITS), torch.tensor(CLASSES)


def by_hand(logits: np.ndarray, tau: float) -> float:
    """Menon et al. 2021, equation 10: log(1 + sum over the others of (share' / share)^tau exp(f' - f))."""
    shares, total = np.array(COUNTS) / sum(COUNTS), 0.0
    for row, right in zip(logits, CLASSES, strict=True):
        others = [k for k in range(3) if k != right]
        odds = [(shares[k] / shares[right]) ** tau * np.exp(row[k] - row[right]) for k in others]
        total += np.log1p(sum(odds))
    return total


@pytest.mark.parametrize("options", [{}, {"tau": 0.5, "label_smoothing": 0.1}])
def test_it_keeps_the_contract_of_losses(options: dict[str, float]) -> None:
    check_loss(logit_adjusted(class_counts=COUNTS, **options), logits, classes)


def test_mixed_targets_give_the_mixture_of_both_classes_losses() -> None:
    """The loss is linear in the target: a share s of one class and 1 - s of another."""
    loss, first, second = logit_adjusted(class_counts=COUNTS), classes, classes.roll(1)
    hot = [torch.nn.functional.one_hot(each, 3).double() for each in (first, second)]
    total, weight = loss(logits, 0.3 * hot[0] + 0.7 * hot[1])
    parts = [float(loss(logits, each)[0]) for each in (first, second)]
    assert float(total) == pytest.approx(0.3 * parts[0] + 0.7 * parts[1], rel=1e-12)
    assert weight == 9.0


@pytest.mark.parametrize("tau", [0.0, 0.5, 1.0, 2.0])
def test_in_training_it_is_the_equation_of_the_paper(tau: float) -> None:
    total, weight = logit_adjusted(class_counts=COUNTS, tau=tau)(logits, classes)
    assert float(total) == pytest.approx(by_hand(LOGITS, tau), rel=1e-12)
    assert weight == 9.0


@pytest.mark.parametrize("off", [torch.no_grad, torch.inference_mode])
def test_where_no_gradient_is_taken_it_is_the_cross_entropy_of_the_bare_logits(off: type) -> None:
    with off():
        judged = logit_adjusted(class_counts=COUNTS)(logits, classes)
        assert judged == cross_entropy()(logits, classes)


def test_the_best_constant_logits_are_equal_and_those_of_cross_entropy_are_not() -> None:
    """Without inputs the optimum of cross-entropy is log shares; what adjustment learns is free of them."""
    target = torch.tensor([0] * 90 + [1] * 9 + [2])
    adjusted = logit_adjusted(class_counts=[90, 9, 1])
    for loss, expected in ((cross_entropy(), [0.9, 0.09, 0.01]), (adjusted, [1 / 3] * 3)):
        bare = torch.zeros(3, dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.LBFGS([bare], max_iter=200, tolerance_grad=1e-12)

        def closure(loss=loss, bare=bare) -> torch.Tensor:  # type: ignore[no-untyped-def]
            bare.grad = None
            total: torch.Tensor = loss(bare.expand(100, 3), target)[0] / 100
            total.backward()
            return total

        optimizer.step(closure)
        assert bare.detach().softmax(0).tolist() == pytest.approx(expected, abs=1e-5)


def test_a_class_that_training_lacks_counts_as_one_example_and_stays_finite() -> None:
    total, _ = logit_adjusted(class_counts=[10, 0, 5], label_smoothing=0.1)(logits, classes.clamp_max(0))
    expected, _ = logit_adjusted(class_counts=[10, 1, 5], label_smoothing=0.1)(logits, classes.clamp_max(0))
    assert float(total) == float(expected)


def test_positions_have_classes_on_axis_one() -> None:
    maps, target = torch.tensor(RNG.normal(size=(2, 3, 4))), torch.tensor(RNG.integers(0, 3, (2, 4)))
    flat = maps.permute(0, 2, 1).reshape(8, 3)
    loss = logit_adjusted(class_counts=COUNTS)
    assert float(loss(maps, target)[0]) == pytest.approx(float(loss(flat, target.reshape(8))[0]), rel=1e-12)


@pytest.mark.parametrize("counts", [[], [5], [3, -1], [0, 0]])
def test_counts_that_say_nothing_are_refused(counts: list[int]) -> None:
    with pytest.raises(StoneError, match="one number of training examples per class"):
        logit_adjusted(class_counts=counts)


def test_without_counts_no_batch_is_taken() -> None:
    with pytest.raises(StoneError, match="how frequent each class is"):
        logit_adjusted()(logits, classes)


def test_wrong_shapes_and_a_negative_tau_are_refused() -> None:
    loss = logit_adjusted(class_counts=COUNTS)
    with pytest.raises(StoneError, match="3 numbers, the model gives 4"):
        loss(torch.zeros(2, 4), torch.zeros(2, dtype=torch.int64))
    with pytest.raises(StoneError, match="one class index"):
        loss(torch.zeros(2, 3), torch.zeros(2, 3, dtype=torch.int64))
    with pytest.raises(StoneError, match="0 or above"):
        logit_adjusted(class_counts=COUNTS, tau=-1)
