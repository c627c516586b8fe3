"""Ten steps of each optimizer against its formula, written out in numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.optimizers.adam import adam
from torchstone.engines.pytorch.optimizers.adamw import adamw
from torchstone.engines.pytorch.optimizers.sgd import sgd
from torchstone.testing.check_optimizer import check_optimizer

RNG = np.random.default_rng(3)
START = RNG.normal(size=(4, 3))
GRADIENTS = RNG.normal(size=(10, 4, 3))


def ten_steps(make, decay: float) -> np.ndarray:
    weight = torch.nn.Parameter(torch.tensor(START, dtype=torch.float64))
    optimizer = make([{"params": [weight], "weight_decay": decay, "name": "decayed"}])
    for gradient in GRADIENTS:
        weight.grad = torch.tensor(gradient)
        optimizer.step()
    return weight.detach().numpy()


def adam_by_hand(lr: float, decay: float, *, is_decoupled: bool, betas=(0.9, 0.999), eps=1e-8) -> np.ndarray:
    weight, mean, square = START.copy(), 0.0, 0.0
    for step, raw in enumerate(GRADIENTS, start=1):
        gradient = raw if is_decoupled else raw + decay * weight
        if is_decoupled:
            weight = weight * (1 - lr * decay)
        mean = betas[0] * mean + (1 - betas[0]) * gradient
        square = betas[1] * square + (1 - betas[1]) * gradient**2
        corrected = mean / (1 - betas[0] ** step)
        weight = weight - lr * corrected / (np.sqrt(square / (1 - betas[1] ** step)) + eps)
    return weight


def sgd_by_hand(lr: float, momentum: float, decay: float, *, nesterov: bool) -> np.ndarray:
    weight, velocity = START.copy(), 0.0
    for raw in GRADIENTS:
        gradient = raw + decay * weight
        velocity = momentum * velocity + gradient
        weight = weight - lr * (gradient + momentum * velocity if nesterov else velocity)
    return weight


def test_ten_steps_of_adamw():
    expected = adam_by_hand(0.05, 0.1, is_decoupled=True)
    assert ten_steps(lambda groups: adamw(groups, lr=0.05), 0.1) == pytest.approx(expected, rel=1e-9)


def test_ten_steps_of_adam():
    expected = adam_by_hand(0.02, 0.1, is_decoupled=False, betas=(0.8, 0.99), eps=1e-6)
    stepped = ten_steps(lambda groups: adam(groups, lr=0.02, betas=(0.8, 0.99), eps=1e-6), 0.1)
    assert stepped == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("nesterov", [False, True])
def test_ten_steps_of_sgd(nesterov):
    expected = sgd_by_hand(0.05, 0.9, 0.01, nesterov=nesterov)
    stepped = ten_steps(lambda groups: sgd(groups, lr=0.05, momentum=0.9, nesterov=nesterov), 0.01)
    assert stepped == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("make", "lr"), [(adam, 0.1), (adamw, 0.1), (sgd, 0.05)])
def test_the_contract_of_optimizers(make, lr):
    check_optimizer(lambda groups: make(groups, lr=lr))


@pytest.mark.parametrize("make", [adam, adamw, sgd])
def test_the_step_is_fused_on_cpu_and_keeps_the_groups(make):
    groups = [{"params": [torch.nn.Parameter(torch.ones(2))], "weight_decay": 0.3, "name": "decayed"},
              {"params": [torch.nn.Parameter(torch.ones(2))], "weight_decay": 0.0, "name": "not decayed"}]
    optimizer = make(iter(groups), lr=0.5)
    assert all(group["fused"] for group in optimizer.param_groups)
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0.3, 0.0]
    assert [group["name"] for group in optimizer.param_groups] == ["decayed", "not decayed"]


def test_nesterov_without_momentum_is_refused():
    with pytest.raises(StoneError, match="momentum above 0"):
        sgd([{"params": [torch.nn.Parameter(torch.ones(2))]}], momentum=0.0, nesterov=True)


def test_sgd_takes_in_a_parameter_that_has_its_first_gradient_later():
    """torch's fused SGD (2.14) fails there; the loop over parameters gives the numbers."""
    def walked(make):
        weights = [torch.nn.Parameter(torch.linspace(-1, 1, 6).reshape(2, 3)) for _ in range(2)]
        optimizer = make([{"params": weights}])
        for step in range(6):
            optimizer.zero_grad(set_to_none=True)
            sum((w - 3).square().sum() for w in weights[: 1 if step < 3 else 2]).backward()
            optimizer.step()
        return weights

    ours = walked(lambda groups: sgd(groups, lr=0.05))
    right = walked(lambda groups: torch.optim.SGD(groups, lr=0.05, momentum=0.9, foreach=False, fused=False))
    assert all(torch.allclose(one, other, rtol=1e-6) for one, other in zip(ours, right, strict=True))
    assert not torch.equal(ours[0], ours[1])
