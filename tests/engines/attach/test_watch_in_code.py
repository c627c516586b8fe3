"""`ts.watch` around a plain loop: it sees, changes nothing, and leaves nothing behind."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch._dynamo  # replaces torch.manual_seed when it is first imported
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import lr_scheduler
from torch.optim import optimizer as optimizers
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.dataloader import _BaseDataLoaderIter

import torchstone as ts
from torchstone.core.errors import StoneError
from torchstone.core.finding import Finding

OWNERS = [
    torch, torch.random, torch.autograd, torch.nn.utils, torch.nn.utils.clip_grad, F, nn.Module, optimizers.Optimizer,
    DataLoader, _BaseDataLoaderIter, torch.amp.GradScaler, torch.amp.grad_scaler.GradScaler, torch.autocast, Tensor,
    *(kind for kind in vars(lr_scheduler).values() if isinstance(kind, type)),
]  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Every function of torch is the very one it was before, and no hook of all optimizers is left."""
    before = identities()
    yield
    assert identities() == before


def identities() -> dict[str, int]:
    """The identity of each attribute of each owner, and how many hooks all optimizers have."""
    found = {f"{owner.__name__}.{name}": id(value) for owner in OWNERS for name, value in vars(owner).items()
             if callable(value) and not name.startswith("__annotate")}
    hooks = (optimizers._global_optimizer_pre_hooks, optimizers._global_optimizer_post_hooks)
    return {**found, "hooks": sum(map(len, hooks))}


def net(seed: int = 0) -> nn.Sequential:
    """A small classifier with dropout and BatchNorm."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))


def train(model: nn.Module, optimizer: torch.optim.Optimizer, *, epochs: int = 4, clears: bool = True,
          after: Callable[[int], None] = lambda step: None) -> Tensor:  # fmt: skip
    """A plain loop over 320 rows, with validation and a scheduler; returns all weights in one vector."""
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(400, 6, generator=draw)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    loader = DataLoader(TensorDataset(x[:320], y[:320]), 32, shuffle=True, generator=draw)
    held_out = DataLoader(TensorDataset(x[320:], y[320:]), 32)
    schedule = lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        model.train()
        for step, (inputs, target) in enumerate(loader):
            if clears:
                optimizer.zero_grad()
            F.cross_entropy(model(inputs), target).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            after(step)
        schedule.step()
        model.eval()
        with torch.no_grad():
            sum(F.cross_entropy(model(inputs), target) for inputs, target in held_out)
    return torch.cat([value.detach().reshape(-1).float() for value in model.state_dict().values()])


def adam(model: nn.Module) -> torch.optim.Optimizer:
    """AdamW over all of a model."""
    return torch.optim.AdamW(model.parameters(), 1e-2)


def test_the_weights_are_the_same_bit_for_bit_with_and_without() -> None:
    model = net()
    alone = train(model, adam(model))
    model = net()
    optimizer = adam(model)
    with ts.watch(model, optimizer, is_quiet=True) as doctor:
        watched = train(model, optimizer)
    assert torch.equal(alone, watched)
    assert doctor.findings == []
    assert doctor.mistakes == {}


def test_what_was_built_before_and_what_is_built_inside_are_both_seen() -> None:
    model = net()
    optimizer = adam(model)
    with ts.watch(model, optimizer, is_quiet=True) as before:
        train(model, optimizer, epochs=2)
    with ts.watch(is_quiet=True) as inside:
        model = net()
        train(model, adam(model), epochs=2)
    for doctor in (before, inside):
        seen = {row["event"]: row for row in doctor.rows}
        assert seen["model"]["num_weights"] == 195
        assert (seen["optimizer"]["kind"], seen["end"]["steps"]) == ("AdamW", 20)
        assert {"pass", "loss", "schedule", "step"} <= set(seen)


def test_the_callback_hears_each_finding_once_as_soon_as_it_is_clear() -> None:
    heard: list[tuple[Finding, int]] = []
    at = [0]

    def step_was(step: int) -> None:
        at[0] += 1

    model = net()
    optimizer = adam(model)
    with ts.watch(model, optimizer, callback=lambda finding: heard.append((finding, at[0])), is_quiet=True) as doctor:
        train(model, optimizer, clears=False, after=step_was)
    assert [finding.code for finding in doctor.findings][:1] == ["RUN301"]
    assert [finding for finding, _ in heard].count(doctor.findings[0]) == 1
    assert heard[0][1] <= 10, "a fault of protocol is told within ten steps"


def test_findings_go_to_standard_error_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    model = net()
    with ts.watch(model, optimizer := adam(model)):
        train(model, optimizer, epochs=1, clears=False)
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("torchstone RUN301 error  test_watch_in_code.py:")


def test_where_nothing_is_found_one_line_says_what_was_seen_and_what_was_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = net()
    with ts.watch(model, optimizer := adam(model)):
        train(model, optimizer, epochs=3)
    expected = "torchstone  30 steps, 3 passes of validation: nothing found; not seen: a checkpoint\n"
    assert capsys.readouterr().err == expected


def test_an_ignored_rule_is_not_asked() -> None:
    model = net()
    with ts.watch(model, optimizer := adam(model), ignore=["RUN301"], is_quiet=True) as doctor:
        train(model, optimizer, epochs=1, clears=False)
    assert "RUN301" not in [finding.code for finding in doctor.findings]


def test_an_error_inside_stays_the_loops_own_and_what_was_found_remains() -> None:
    model = net()

    def fail(step: int) -> None:
        if step == 5:
            raise ZeroDivisionError("the loop's own")

    with (
        pytest.raises(ZeroDivisionError, match="the loop's own"),
        ts.watch(model, optimizer := adam(model), is_quiet=True) as doctor,
    ):
        train(model, optimizer, clears=False, after=fail)
    assert [finding.code for finding in doctor.findings] == ["RUN301"]
    assert not any(module._forward_hooks for module in model.modules())
    assert not any(parameter._backward_hooks for parameter in model.parameters())


def test_one_watch_inside_of_another_sees_the_same() -> None:
    model = net()
    optimizer = adam(model)
    with ts.watch(model, optimizer, is_quiet=True) as outer, ts.watch(model, optimizer, is_quiet=True) as inner:
        watched = train(model, optimizer)
    assert [doctor.rows[-1]["steps"] for doctor in (outer, inner)] == [40, 40]
    model = net()
    assert torch.equal(watched, train(model, adam(model)))


def test_doctors_may_be_taken_off_in_any_order() -> None:
    doctors = [ts.watch(is_quiet=True) for _ in range(4)]
    random.Random(0).shuffle(doctors)
    for doctor in doctors:
        doctor.stop()


def test_a_second_use_begins_anew_and_a_running_one_is_refused() -> None:
    model = net()
    optimizer = adam(model)
    doctor = ts.watch(model, optimizer, is_quiet=True)
    with pytest.raises(StoneError, match="already watching"):
        doctor.start()
    with doctor:
        train(model, optimizer, epochs=1, clears=False)
    assert doctor.findings
    doctor.stop()
    with doctor:
        train(model, optimizer, epochs=1)
    assert doctor.findings == []
    assert doctor.rows[-1]["steps"] == 10


def test_a_scheduler_alone_leads_to_its_optimizer() -> None:
    model = net()
    schedule = lr_scheduler.StepLR(adam(model), 2)
    with ts.watch(scheduler=schedule, is_quiet=True) as doctor:
        pass
    assert [row["kind"] for row in doctor.rows if row["event"] == "optimizer"] == ["AdamW"]


def test_what_is_no_model_or_optimizer_is_refused_with_its_place() -> None:
    with pytest.raises(StoneError, match="this is a str"):
        ts.watch("model", is_quiet=True)
    model = net()
    with pytest.raises(StoneError, match="this is a Sequential"):
        ts.watch(model, model, is_quiet=True)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wire of ours with a mistake in it."""

    def describe(*_: Any) -> dict[str, Any]:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr("torchstone.engines.attach.losses.describe", describe)


@pytest.mark.usefixtures("broken")
def test_a_mistake_of_ours_never_breaks_the_loop_and_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    model = net()
    with ts.watch(model, optimizer := adam(model)) as doctor:
        train(model, optimizer, epochs=1)
    assert doctor.mistakes == {"Losses._see": "RuntimeError: a mistake of ours"}
    assert "a mistake of ours, the loop is not touched by it: Losses._see" in capsys.readouterr().err


@pytest.mark.usefixtures("broken")
def test_those_who_mend_it_may_have_it_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHSTONE_STRICT", "1")
    model = net()
    with pytest.raises(RuntimeError, match="a mistake of ours"), ts.watch(model, adam(model), is_quiet=True):
        train(model, adam(model), epochs=1)


def test_a_callback_that_fails_does_not_break_the_loop() -> None:
    def callback(finding: Finding) -> None:
        raise OSError("the disk is full")

    model = net()
    with ts.watch(model, optimizer := adam(model), callback=callback, is_quiet=True) as doctor:
        train(model, optimizer, epochs=1, clears=False)
    assert [*doctor.mistakes.values()] == ["OSError: the disk is full"]
    assert doctor.findings
