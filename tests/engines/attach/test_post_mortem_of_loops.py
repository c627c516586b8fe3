"""In a loop that is not ours the first bad layer and its cause are named, and not a bit of the loop is changed."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import torchstone as ts
from torchstone.core.finding import Finding


class Does(nn.Module):
    """A layer that does one thing."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, hidden: Tensor) -> Tensor:
        """The function of it."""
        return self.function(hidden)


def inputs() -> Tensor:
    """64 examples of six numbers."""
    return torch.randn(64, 6, generator=torch.Generator().manual_seed(3))


def loop(
    middle: Callable[[Tensor], Tensor] = torch.relu, *, x: Tensor | None = None, y: Tensor | None = None,
    lr: float = 1e-2, steps: int = 12, autocast: torch.dtype | None = None, skips: bool = False, clips: bool = False,
    is_watched: bool = True,
) -> tuple[list[Finding], Tensor]:  # fmt: skip
    """A plain loop with dropout; returns what was found, and all weights at the end."""
    torch.manual_seed(0)
    x = inputs() if x is None else x
    model = nn.Sequential(nn.Linear(6, 16), Does(middle), nn.Dropout(0.1), nn.Linear(16, 3 if y is None else 1))
    target = x.nan_to_num().argmax(1) % 3 if y is None else y
    optimizer = torch.optim.SGD(model.parameters(), lr)
    with ts.watch(model, optimizer, is_quiet=True) if is_watched else contextlib.nullcontext() as doctor:
        for step in range(steps):
            part = slice(step % 4 * 16, step % 4 * 16 + 16)
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=autocast) if autocast else contextlib.nullcontext():
                output = model(x[part])
                loss = F.cross_entropy(output, target[part]) if y is None else F.mse_loss(output[:, 0], target[part])
            if skips and not torch.isfinite(loss):
                continue
            loss.backward()
            if clips:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    weights = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    assert doctor is None or doctor.mistakes == {}
    return ([] if doctor is None else doctor.findings), weights


def found(code: str, findings: list[Finding]) -> Finding:
    """The finding of a code."""
    return next(finding for finding in findings if finding.code == code)


def masked(hidden: Tensor, hides: int) -> Tensor:
    """Attention over the batch, causal, where so many rows see nothing at all."""
    mask = torch.ones(len(hidden), len(hidden), dtype=torch.bool).triu(1)
    mask[:hides] = True
    return torch.softmax((hidden @ hidden.T).masked_fill(mask, -math.inf), 1) @ hidden


def normalised(hidden: Tensor, epsilon: float) -> Tensor:
    """Features divided by their deviation over the batch; here one that is constant."""
    constant = hidden.clamp(max=-9.0)
    return hidden + (constant - constant.mean(0)) / (constant.std(0) + epsilon)


SICK = {
    "log of 0": (lambda h: h.relu().log(), "forward", "log of 0"),
    "constant feature": (lambda h: normalised(h, 0.0), "forward", "a division by 0"),
    "row that sees nothing": (lambda h: masked(h, 1), "forward", "a softmax over nothing: 1 rows"),
    "root at 0": (lambda h: (h * h.relu()).sqrt(), "backward", "the gradient of sqrt"),
}
MENDED = {
    "log of 0": lambda h: (h.relu() + 1e-4).log(),
    "constant feature": lambda h: normalised(h, 1e-5),
    "row that sees nothing": lambda h: masked(h, 0),
    "root at 0": lambda h: (h * h.relu() + 1e-6).sqrt(),
}


@pytest.mark.parametrize("clips", [False, True])
@pytest.mark.parametrize("name", SICK)
def test_the_operation_is_named_after_its_layer(name: str, clips: bool) -> None:
    function, phase, sentence = SICK[name]
    findings, _ = loop(function, clips=clips)
    first = findings[0]
    assert (first.code, first.severity, first.where.layer) == ("RUN601", "error", "0")
    assert (first.evidence["phase"], first.evidence["cause"]) == (phase, "operation")
    assert sentence in first.what


@pytest.mark.parametrize("name", MENDED)
def test_the_mended_twin_is_silent(name: str) -> None:
    findings, weights = loop(MENDED[name])
    assert findings == []
    assert bool(weights.isfinite().all())


@pytest.mark.parametrize("name", SICK)
def test_not_a_bit_of_a_sick_loop_is_changed(name: str) -> None:
    _, watched = loop(SICK[name][0], steps=6)
    _, alone = loop(SICK[name][0], steps=6, is_watched=False)
    assert torch.equal(watched.nan_to_num(7.0), alone.nan_to_num(7.0))
    assert torch.equal(watched.isnan(), alone.isnan())


def test_nan_in_an_input_names_its_place_in_the_batch() -> None:
    x = inputs()
    x[37, 2] = math.nan
    findings, _ = loop(x=x)
    first = findings[0]
    assert (first.code, first.evidence["cause"], first.where.step) == ("RUN601", "data", 3)
    assert "NaN in input came in with the batch: number 5 of the batch, column 2" in first.what


def test_an_infinite_label_of_a_regression_is_the_targets_fault() -> None:
    y = inputs()[:, 0].clone()
    y[21] = math.inf
    findings, _ = loop(y=y)
    assert "infinity in the target came in with the batch: number 5 of the batch" in findings[0].what


@pytest.mark.parametrize(("lr", "middle"), [(500.0, lambda h: h * h), (1e20, torch.relu)])
def test_a_rate_that_is_too_high_is_an_explosion_not_an_operation(lr: float, middle: Any) -> None:
    findings, _ = loop(middle, x=3 * inputs(), lr=lr)
    first = found("RUN601", findings)
    assert first.evidence["cause"] == "explosion"
    assert "the run blew up" in first.what
    assert first.fix.startswith("Lower the learning rate")


def test_float16_that_overflows_inside_says_the_number() -> None:
    findings, _ = loop(lambda h: h * 1e5, autocast=torch.float16)
    first = found("RUN601", findings)
    assert first.evidence["cause"] == "overflow"
    findings, _ = loop(autocast=torch.float16)
    assert "RUN601" not in [finding.code for finding in findings]


def test_an_input_beyond_float16_is_overflow_and_not_broken_data() -> None:
    findings, _ = loop(x=3e5 * inputs(), autocast=torch.float16)
    first = found("RUN601", findings)
    assert first.evidence["cause"] == "overflow"
    assert "65,504" in first.what


def test_batches_that_the_loop_leaves_out_on_purpose_are_told_once_as_a_warning() -> None:
    x = inputs()
    x[37, 2] = math.nan
    findings, weights = loop(x=x, skips=True)
    assert [(finding.code, finding.severity) for finding in findings] == [("RUN613", "warning")]
    assert "its batch was left out: NaN in input" in findings[0].what
    assert bool(weights.isfinite().all())
    assert loop(skips=True)[0] == []


def adversaries(bad_step: int | None) -> list[Finding]:
    """A generator and a discriminator of which the second is shown a NaN once."""
    torch.manual_seed(0)
    makes = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 6))
    judges = nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    optimizers = [torch.optim.Adam(model.parameters(), 1e-3) for model in (makes, judges)]
    ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)
    with ts.watch([makes, judges], optimizers, is_quiet=True) as doctor:
        for step in range(20):
            real, noise = torch.randn(16, 6), torch.randn(16, 4)
            if step == bad_step:
                real[3, 1] = math.nan
            optimizers[1].zero_grad()
            losses = [F.binary_cross_entropy_with_logits(judges(real), ones),
                      F.binary_cross_entropy_with_logits(judges(makes(noise).detach()), zeros)]
            sum(losses).backward()  # type: ignore[union-attr]
            optimizers[1].step()
            optimizers[0].zero_grad()
            F.binary_cross_entropy_with_logits(judges(makes(noise)), ones).backward()
            optimizers[0].step()
    assert doctor.mistakes == {}
    return doctor.findings


def test_of_two_models_the_one_that_was_given_nan_is_named() -> None:
    (first,) = [finding for finding in adversaries(8) if finding.severity == "error"]
    assert first.code == "RUN601"
    assert "number 3 of the batch, column 1" in first.what
    assert adversaries(None) == []


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("is_sick", [False, True])
def test_the_closure_of_lbfgs_is_seen(search: str | None, is_sick: bool) -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1)), inputs()
    y = x[:, 0].clone()
    if is_sick:
        y[5] = math.nan
    optimizer = torch.optim.LBFGS(model.parameters(), line_search_fn=search)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x)[:, 0], y)
        loss.backward()
        return loss

    with ts.watch(model, optimizer, is_quiet=True) as doctor:
        for _ in range(6):
            optimizer.step(closure)
    assert [finding.code for finding in doctor.findings] == (["RUN601"] if is_sick else [])
    assert not is_sick or "NaN in the target" in doctor.findings[0].what


@pytest.mark.parametrize("is_sick", [False, True])
def test_the_steps_that_a_loss_scaler_skips_at_first_are_healthy_but_not_a_loss_that_stays_bad(is_sick: bool) -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)), inputs()
    y = x.argmax(1) % 3
    if is_sick:
        x[5, 1] = math.nan
    optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1), torch.amp.GradScaler("cpu", init_scale=2.0**40)
    with ts.watch(model, optimizer, is_quiet=True) as doctor:
        for _ in range(40):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    assert doctor.rows[-1]["num_skipped_by_scaler"] > 10
    assert [finding.code for finding in doctor.findings] == (["RUN601"] if is_sick else [])


def test_one_bad_batch_that_is_neither_used_nor_followed_by_harm_is_no_error() -> None:
    x = inputs()
    x[37, 2] = math.nan
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    with ts.watch(model, optimizer, is_quiet=True, ignore=["RUN501"]) as doctor:
        for step in range(16):
            part = slice(step % 4 * 16, step % 4 * 16 + 16)
            optimizer.zero_grad()
            F.mse_loss(model(x[part])[:, 0], x[part, 0]).backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if torch.isfinite(norm):
                optimizer.step()
    assert [finding.code for finding in doctor.findings if finding.severity == "error"] == []
