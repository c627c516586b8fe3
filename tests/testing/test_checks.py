"""The conformance checks catch what breaks the contracts."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from torchstone.core.finding import Finding
from torchstone.engines.pytorch.averaging.ema import Average, ema
from torchstone.engines.pytorch.averaging.swa import Mean, swa
from torchstone.rules.dataset.conflicting_duplicates import RULE
from torchstone.testing.check_averaging import check_averaging
from torchstone.testing.check_loss import check_loss
from torchstone.testing.check_optimizer import check_optimizer
from torchstone.testing.check_rule import check_rule
from torchstone.testing.check_schedule import check_schedule

logits_BK = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(6, 2)
target_BK = torch.zeros(6, 2, dtype=torch.float64)


def half_mean(logits, target):
    """A mean that calls itself a sum."""
    return (logits - target).square().mean(), float(len(target))


def without_gradient(logits, target):
    return (logits.detach() - target).square().sum() + 0 * logits.sum(), float(len(target))


@pytest.mark.parametrize(("loss", "said"), [
    (half_mean, "how the batch is cut"),
    (without_gradient, "derivative|Jacobian"),
    (lambda logits, target: ((logits - target).square(), 1.0), "one number"),
    (lambda logits, target: ((logits - target).square().sum(), 1.0), "weight depends"),
    (lambda logits, target: ((logits - target.to(logits.dtype)).square().sum(), float(len(target))), "float32"),
])
def test_a_broken_loss_is_caught(loss, said):
    with pytest.raises((AssertionError, RuntimeError), match=said):
        check_loss(loss, logits_BK, target_BK)


@pytest.mark.parametrize(("schedule", "said"), [
    (lambda step, total: 2.0, "out of 0"),
    (lambda step, total: 0.0, "moves anything"),
    (lambda step, total: 1 / (step + 1), "changes after"),
    (lambda step, total: 1 / (step + 1) if step < total else 1.0, "climbs again"),
])
def test_a_broken_schedule_is_caught(schedule, said):
    with pytest.raises(AssertionError, match=said):
        check_schedule(schedule)


@pytest.mark.parametrize(("make", "said"), [
    (lambda groups: torch.optim.SGD([p for g in groups for p in g["params"]], lr=0.1), "the groups|name"),
    (lambda groups: torch.optim.SGD(groups, lr=1e-6), "from the bottom"),
])
def test_a_broken_optimizer_is_caught(make, said):
    with pytest.raises((AssertionError, KeyError), match=said):
        check_optimizer(make)


@pytest.mark.parametrize(("change", "said"), [
    ({"code": "data1"}, "three capitals"),
    ({"name": "Conflicting Duplicates"}, "small letters"),
    ({"why": " "}, "why is empty"),
    ({"trips": RULE.passes}, "silent on its own sick"),
    ({"passes": RULE.trips}, "fires on its own healthy"),
    ({"check": lambda subject: [Finding("XXX999", "error", "a", "b", "c")]}, "found something as XXX999"),
])
def test_a_broken_rule_is_caught(change, said):
    with pytest.raises(AssertionError, match=said):
        check_rule(replace(RULE, **change))


def test_a_sound_rule_passes():
    check_rule(RULE)


@pytest.mark.parametrize("make", [
    ema, lambda model: ema(model, decay=0.5, recalibrate=3), swa, lambda model: swa(model, start=0.0, every=1),
    lambda model: swa(model, start=0.4, every=4, recalibrate=0),
])
def test_our_averages_keep_the_contract(make):
    check_averaging(make)


class Forgetful(Mean):
    """A mean that forgets how many there were."""

    def load(self, state, num):
        super().load(state, min(num, 1))


class Uncounted(Average):
    """An average that does not say when it moves."""

    num = property(lambda self: 0, lambda self, value: None)


class Live(Average):
    """An average that is the model itself."""

    def state(self):
        return {name: value.detach() for name, value in self._live.items()}


class Ahead(Average):
    """An average that runs past the weights."""

    def state(self):
        return {name: value + 1 for name, value in super().state().items()}


@pytest.mark.parametrize(("make", "said"), [
    (lambda model: Forgetful(model, 0.0, 1, 0), "goes another way"),
    (lambda model: Uncounted(model, 0.5), "num does not"),
    (lambda model: Live(model, 0.5), "the model's own|another way"), (lambda model: Ahead(model, 0.5), "beyond"),
    (lambda model: swa(model.__class__(model[0])), "names are not"),
])
def test_a_broken_average_is_caught(make, said):
    with pytest.raises(AssertionError, match=said):
        check_averaging(make)
