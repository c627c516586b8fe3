"""Tensors on `meta` and fake ones, as shape checks and counters of operations use them, are no news for the doctor."""

from __future__ import annotations

import contextlib

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import torchstone as ts
from torchstone.engines.attach.recorder import Recorder, has_numbers


def steps(model: nn.Module, num: int, device: str) -> None:
    """A few steps of a classifier on random examples."""
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for _ in range(num):
        optimizer.zero_grad()
        logits = model(torch.randn(8, 4, device=device))
        loss = F.cross_entropy(logits, torch.zeros(8, dtype=torch.long, device=device))
        (loss + F.mse_loss(logits, torch.zeros_like(logits))).backward()
        optimizer.step()


@pytest.mark.parametrize("kind", ["meta", "fake"])
def test_a_dry_pass_before_the_training_neither_breaks_nor_blinds_the_doctor(kind):
    torch.manual_seed(0)
    with ts.watch(is_quiet=True) as doctor:
        with FakeTensorMode() if kind == "fake" else contextlib.nullcontext():
            device = "meta" if kind == "meta" else "cpu"
            steps(nn.Linear(4, 3, device=device), 3, device)
        steps(nn.Linear(4, 3), 12, "cpu")
    assert doctor.mistakes == {}
    losses = [row["value"] for row in doctor.rows if row["event"] == "loss"]
    assert losses
    assert all(isinstance(value, float) for value in losses)


def test_a_number_that_cannot_be_read_is_a_mistake_told_once_and_the_others_are_read():
    recorder = Recorder(None)
    rows = [recorder.note("loss"), recorder.note("loss"), recorder.note("loss")]
    recorder.later(rows[0], "value", torch.zeros(2))  # float() of two numbers raises
    recorder.later(rows[1], "value", torch.tensor(2.0), 0.5)
    recorder.later(rows[2], "value", torch.zeros((), device="meta"))
    recorder.close()
    assert [row["value"] for row in rows] == [None, 1.0, None]
    assert list(recorder.mistakes) == ["read"]
    assert has_numbers(torch.zeros(2))
    assert not has_numbers(torch.zeros(2, device="meta"))
