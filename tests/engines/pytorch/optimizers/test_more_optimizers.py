"""Ten steps of each further optimizer against numpy, and states that come back bit for bit."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from torchstone.core import catalog
from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.optimizers.adafactor import adafactor
from torchstone.engines.pytorch.optimizers.adamw import adamw
from torchstone.engines.pytorch.optimizers.adamw_8bit import adamw_8bit
from torchstone.engines.pytorch.optimizers.lamb import lamb
from torchstone.engines.pytorch.optimizers.lion import lion
from torchstone.engines.pytorch.optimizers.muon import muon
from torchstone.engines.pytorch.optimizers.nadam import nadam
from torchstone.engines.pytorch.optimizers.radam import radam
from torchstone.engines.pytorch.optimizers.rmsprop import rmsprop
from torchstone.engines.pytorch.optimizers.sam import sam
from torchstone.engines.pytorch.optimizers.schedule_free import schedule_free
from torchstone.engines.pytorch.snapshot import _flatten, _unflatten
from torchstone.testing.check_optimizer import check_optimizer

RNG = np.random.default_rng(8)
START = RNG.normal(size=(4, 3))
GRADIENTS = RNG.normal(size=(10, 4, 3))
# name → (part, rate with which it walks down a bowl of curvature 1)
RATES = {"adafactor": 0.1, "nadam": 0.1, "radam": 0.1, "rmsprop": 0.05, "muon": 0.1, "lion": 0.05, "lamb": 0.05,
         "adam": 0.1, "adamw": 0.1, "sgd": 0.05, "schedule_free": 0.3}


def part(name: str):
    return catalog.find("torchstone.engines.pytorch.optimizers", name)


def ten_steps(make, decay: float, start: np.ndarray = START, name: str = "decayed") -> np.ndarray:
    weight = torch.nn.Parameter(torch.tensor(start, dtype=torch.float64))
    optimizer = make([{"params": [weight], "weight_decay": decay, "name": name}])
    for gradient in GRADIENTS:
        weight.grad = torch.tensor(gradient)
        optimizer.step()
    return weight.detach().numpy()


def test_ten_steps_of_lion():
    weight, momentum = START.copy(), np.zeros((4, 3))
    for gradient in GRADIENTS:
        weight = weight * (1 - 0.03 * 0.2) - 0.03 * np.sign(0.9 * momentum + 0.1 * gradient)
        momentum = 0.98 * momentum + 0.02 * gradient
    stepped = ten_steps(lambda groups: lion(groups, lr=0.03, betas=(0.9, 0.98)), 0.2)
    assert stepped == pytest.approx(weight, rel=1e-12)


@pytest.mark.parametrize("start", [START, np.zeros((4, 3))], ids=["somewhere", "zero"])
def test_ten_steps_of_lamb(start):
    weight, mean, square = start.copy(), np.zeros((4, 3)), np.zeros((4, 3))
    for step, gradient in enumerate(GRADIENTS, start=1):
        mean, square = 0.8 * mean + 0.2 * gradient, 0.9 * square + 0.1 * gradient**2
        ratio = mean / (1 - 0.8**step) / (np.sqrt(square / (1 - 0.9**step)) + 1e-6) + 0.1 * weight
        lengths = np.linalg.norm(weight), np.linalg.norm(ratio)
        weight = weight - 0.05 * (lengths[0] / lengths[1] if min(lengths) > 0 else 1.0) * ratio
    stepped = ten_steps(lambda groups: lamb(groups, lr=0.05, betas=(0.8, 0.9)), 0.1, start)
    assert stepped == pytest.approx(weight, rel=1e-9)


def test_ten_steps_of_nadam():
    weight, mean, square, product = START.copy(), 0.0, 0.0, 1.0
    for step, gradient in enumerate(GRADIENTS, start=1):
        weight = weight * (1 - 0.02 * 0.1)
        now, after = (0.9 * (1 - 0.5 * 0.96 ** (s * 4e-3)) for s in (step, step + 1))
        product *= now
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        ahead = (1 - now) * gradient / (1 - product) + after * mean / (1 - product * after)
        weight = weight - 0.02 * ahead / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    assert ten_steps(lambda groups: nadam(groups, lr=0.02), 0.1) == pytest.approx(weight, rel=1e-6)


def test_ten_steps_of_radam():
    weight, mean, square, longest = START.copy(), 0.0, 0.0, 2 / (1 - 0.9) - 1
    for step, gradient in enumerate(GRADIENTS, start=1):
        weight = weight * (1 - 0.02 * 0.1)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.9 * square + 0.1 * gradient**2
        corrected = mean / (1 - 0.9**step)
        length = longest - 2 * step * 0.9**step / (1 - 0.9**step)
        if length > 5:
            trust = np.sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
            corrected = trust * corrected * np.sqrt(1 - 0.9**step) / (np.sqrt(square) + 1e-8)
        weight = weight - 0.02 * corrected
    assert ten_steps(lambda groups: radam(groups, lr=0.02, betas=(0.9, 0.9)), 0.1) == pytest.approx(weight, rel=1e-9)


def test_ten_steps_of_rmsprop():
    weight, square, mean, velocity = START.copy(), 0.0, 0.0, 0.0
    for raw in GRADIENTS:
        gradient = raw + 0.1 * weight
        square, mean = 0.9 * square + 0.1 * gradient**2, 0.9 * mean + 0.1 * gradient
        velocity = 0.5 * velocity + gradient / (np.sqrt(square - mean**2) + 1e-8)
        weight = weight - 0.02 * velocity
    stepped = ten_steps(lambda groups: rmsprop(groups, lr=0.02, alpha=0.9, momentum=0.5, centered=True), 0.1)
    assert stepped == pytest.approx(weight, rel=1e-6)


def test_ten_steps_of_adafactor():
    weight, rows, columns = START.copy(), np.zeros((4, 1)), np.zeros((1, 3))
    for step, gradient in enumerate(GRADIENTS, start=1):
        rate = max(1e-3, np.sqrt((weight**2).mean())) * min(0.05, step**-0.5)
        weight = weight * (1 - 0.05 * 0.1)
        fresh = step**-0.8
        rows = (1 - fresh) * rows + fresh * (gradient**2).mean(1, keepdims=True)
        columns = (1 - fresh) * columns + fresh * (gradient**2).mean(0, keepdims=True)
        update = gradient / np.sqrt(rows @ columns / rows.mean())
        weight = weight - rate * update / max(1.0, np.sqrt((update**2).mean()))
    assert ten_steps(lambda groups: adafactor(groups, lr=0.05), 0.1) == pytest.approx(weight, rel=1e-5)


def test_ten_steps_of_muon():
    weight, momentum = START.copy(), 0.0
    for gradient in GRADIENTS:
        momentum = 0.95 * momentum + 0.05 * gradient
        ahead = (0.05 * gradient + 0.95 * momentum).T
        ahead = ahead / np.linalg.norm(ahead)
        for _ in range(5):
            gram = ahead @ ahead.T
            ahead = 3.4445 * ahead + (-4.7750 * gram + 2.0315 * gram @ gram) @ ahead
        weight = weight * (1 - 0.01 * 0.1) - 0.01 * 0.2 * 2 * ahead.T
    # torch iterates in bfloat16: three digits of each step
    stepped = ten_steps(lambda groups: muon(groups, lr=0.01), 0.1, name="hidden")
    assert stepped == pytest.approx(weight, abs=10 * 0.004 * 0.02)


def test_muon_takes_hidden_matrices_and_adamw_the_rest():
    two, four, one = (torch.nn.Parameter(torch.ones(*s)) for s in ((3, 3), (2, 2, 3, 3), (3,)))
    alone = muon([{"params": [two, four, one]}])
    assert [[p.ndim for p in group["params"]] for group in alone.param_groups] == [[2], [4, 1]]
    other = torch.nn.Parameter(torch.ones(3, 3))
    named = muon([{"params": [two], "name": "hidden", "weight_decay": 0.3}, {"params": [other, one], "name": "rest"}])
    assert [type(p).__name__ for p in named.parts] == ["Muon", "AdamW"]
    assert [group["name"] for group in named.param_groups] == ["hidden", "rest"]
    assert named.param_groups[0]["weight_decay"] == 0.3
    assert muon([{"params": [one]}]).param_groups[0]["params"] == [one]


def walk(optimizer, weights, gradients) -> None:
    for gradient in gradients:
        for weight in weights:
            weight.grad = (weight.detach().float() * 0.1 + gradient[: weight.numel()].view_as(weight)).to(weight.dtype)
        if hasattr(optimizer, "first_step"):
            optimizer.first_step()
            optimizer.second_step()
        else:
            optimizer.step()


def saved(optimizer) -> dict:
    """The state through the flattening, the files and the JSON of a checkpoint."""
    tensors, numbers = _flatten(optimizer.state_dict())
    return _unflatten(load(save({k: v.contiguous() for k, v in tensors.items()})), json.loads(json.dumps(numbers)))


def groups_of(weights):
    return [{"params": [weights[0]], "weight_decay": 0.05, "name": "hidden"},
            {"params": [weights[1]], "weight_decay": 0.05, "name": "decayed"},
            {"params": [weights[2]], "weight_decay": 0.0, "name": "not decayed"}]


MADE = {
    **{name: part(name) for name in RATES},
    "rmsprop, momentum": lambda groups: rmsprop(groups, momentum=0.9, centered=True),
    "sam": lambda groups: sam(groups, base="adamw"),
    "schedule_free, sgd": lambda groups: schedule_free(groups, base="sgd"),
    "adamw_8bit": adamw_8bit,
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("name", MADE)
def test_ten_steps_a_save_and_ten_more_equal_twenty_steps_bit_for_bit(name, dtype):
    if name == "adamw_8bit":
        pytest.importorskip("bitsandbytes")
    torch.manual_seed(1)
    shapes = ((80, 70), (6, 5, 3, 3), (7,))
    weights = [torch.nn.Parameter(torch.randn(shape).to(dtype)) for shape in shapes]
    gradients = torch.randn(20, 5600)
    optimizer = MADE[name](groups_of(weights))
    walk(optimizer, weights, gradients[:10])
    copies = [torch.nn.Parameter(weight.detach().clone()) for weight in weights]
    state = saved(optimizer)
    other = MADE[name](groups_of(copies))
    other.load_state_dict(state)
    for values in other.state_dict()["state"].values():
        count = values.get("step", 0)
        assert isinstance(count, int) or count.dtype == torch.float32
    walk(optimizer, weights, gradients[10:])
    walk(other, copies, gradients[10:])
    for weight, copy in zip(weights, copies, strict=True):
        assert torch.equal(weight, copy)
    assert [group["name"] for group in other.param_groups] == [group["name"] for group in optimizer.param_groups]


@pytest.mark.parametrize("name", sorted(RATES))
def test_the_contract_of_every_optimizer(name):
    check_optimizer(lambda groups: part(name)(groups, lr=RATES[name]))


def test_muon_walks_to_the_bottom_of_a_bowl():
    weight = torch.nn.Parameter(torch.randn(6, 4))
    optimizer = muon([{"params": [weight]}], lr=0.2, weight_decay=0.0)
    assert type(optimizer.parts[0]).__name__ == "Muon"
    for _ in range(300):
        weight.grad = weight.detach() - 3
        optimizer.step()
    assert float((weight.detach() - 3).abs().max()) < 0.5


def test_every_optimizer_is_found_by_the_name_of_its_file():
    names = set(catalog.names("torchstone.engines.pytorch.optimizers"))
    assert names == {*RATES, "adamw_8bit", "sam"}


def test_without_its_package_adamw_8bit_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    monkeypatch.setitem(sys.modules, "bitsandbytes.optim", None)
    with pytest.raises(StoneError, match=r"torchstone\[eightbit\]"):
        adamw_8bit([{"params": [torch.nn.Parameter(torch.ones(2))]}])


def test_adamw_8bit_walks_like_adamw():
    pytest.importorskip("bitsandbytes")
    torch.manual_seed(0)
    start, target = torch.randn(80, 80), torch.randn(80, 80)
    ends = []
    for make in (adamw, adamw_8bit):
        weight = torch.nn.Parameter(start.clone())
        optimizer = make([{"params": [weight]}], lr=0.02)
        for _ in range(100):
            weight.grad = weight.detach() - target
            optimizer.step()
        ends.append(weight.detach())
    assert float((ends[0] - ends[1]).abs().mean()) < 0.05
    assert optimizer.state_dict()["state"][0]["state1"].dtype == torch.uint8
    check_optimizer(lambda groups: adamw_8bit(groups, lr=0.1))


@pytest.mark.parametrize("adaptive", [False, True])
def test_ten_steps_of_sam_on_a_bowl(adaptive):
    curves = np.array([[1.0], [5.0], [2.0], [0.5]])
    weight = START.copy()
    for _ in range(10):
        gradient = curves * weight
        size = np.linalg.norm(np.abs(weight) * gradient if adaptive else gradient)
        climb = 0.3 * (weight**2 * gradient if adaptive else gradient) / size
        weight = weight - 0.05 * (curves * (weight + climb) + 0.01 * weight)
    parameter = torch.nn.Parameter(torch.tensor(START))
    optimizer = sam([{"params": [parameter]}], base="sgd", base_options={"momentum": 0.0}, rho=0.3, lr=0.05,
                    weight_decay=0.01, adaptive=adaptive)

    def closure() -> float:
        optimizer.zero_grad()
        loss = (torch.tensor(curves) * parameter.square()).sum() / 2
        loss.backward()
        return float(loss.detach())

    for _ in range(10):
        closure()
        loss = optimizer.step(closure)
    assert parameter.detach().numpy() == pytest.approx(weight, rel=1e-9)
    assert loss > 0


def test_sam_puts_weights_back_exactly_and_refuses_half_a_step():
    weights = [torch.nn.Parameter(torch.randn(50) * 1e3), torch.nn.Parameter(torch.ones(2))]
    optimizer = sam([{"params": weights}], lr=0.0, rho=1e-3)
    weights[0].grad = torch.randn(50)
    before = weights[0].detach().clone()
    optimizer.first_step()
    assert not torch.equal(weights[0], before)
    optimizer.second_step()
    assert torch.equal(weights[0], before)
    with pytest.raises(StoneError, match="two gradients"):
        optimizer.step()
    for options, said in (({"base": "muon"}, "base is 'muon'"), ({"rho": 0.0}, "above 0"),
                          ({"base_options": {"moment": 1}}, "no option 'moment'")):
        with pytest.raises(StoneError, match=said):
            sam([{"params": weights}], **options)


def test_ten_steps_of_schedule_free_sgd():
    z, x, weights = START.copy(), START.copy(), 0.0
    rates = [0.02, 0.04, *[0.06] * 8]
    for rate, gradient in zip(rates, GRADIENTS, strict=True):
        z = z - rate * (gradient + 0.1 * z)
        weights += rate**2
        x = x + rate**2 / weights * (z - x)
    parameter = torch.nn.Parameter(torch.tensor(START))
    optimizer = schedule_free([{"params": [parameter], "weight_decay": 0.1}], base="sgd", beta=0.7)
    for rate, gradient in zip(rates, GRADIENTS, strict=True):
        optimizer.param_groups[0]["lr"] = rate
        parameter.grad = torch.tensor(gradient)
        optimizer.step()
    y = parameter.detach().clone()
    assert y.numpy() == pytest.approx(0.3 * z + 0.7 * x, rel=1e-12)
    optimizer.eval()
    optimizer.eval()
    assert parameter.detach().numpy() == pytest.approx(x, rel=1e-12)
    with pytest.raises(StoneError, match="train"):
        optimizer.step()
    optimizer.train()
    assert torch.equal(parameter, y)


def test_schedule_free_agrees_with_the_form_of_the_published_package():
    """There y is moved by itself: y <- lerp(y, z, c) - lr (1 - beta (1 - c)) g, z <- z - lr g, without decay."""
    y, z, weights = START.copy(), START.copy(), 0.0
    for gradient in GRADIENTS:
        weights += 0.05**2
        share = 0.05**2 / weights
        y = y + share * (z - y) + 0.05 * (0.9 * (1 - share) - 1) * gradient
        z = z - 0.05 * gradient
    stepped = ten_steps(lambda groups: schedule_free(groups, base="sgd", lr=0.05), 0.0)
    assert stepped == pytest.approx(y, rel=1e-12)


@pytest.mark.parametrize("make", [lion, lamb, lambda groups: sam(groups), schedule_free])
def test_a_parameter_without_a_gradient_stays(make):
    still, moving = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
    optimizer = make([{"params": [still, moving], "weight_decay": 0.1}])
    walk(optimizer, [moving], torch.ones(1, 2))
    assert torch.equal(still, torch.ones(2))
    assert not torch.equal(moving, torch.ones(2))


@pytest.mark.parametrize("make", [lion, lamb])
def test_betas_that_make_no_sense_are_refused(make):
    with pytest.raises(StoneError, match="betas are"):
        make([{"params": [torch.nn.Parameter(torch.ones(2))]}], betas=(0.9, 1.0))


def test_schedule_free_says_what_is_wrong():
    weights = [{"params": [torch.nn.Parameter(torch.ones(2))]}]
    with pytest.raises(StoneError, match="beta is 1"):
        schedule_free(weights, beta=1.0)
    with pytest.raises(StoneError, match="it may be sgd"):
        schedule_free(weights, base="muon")
