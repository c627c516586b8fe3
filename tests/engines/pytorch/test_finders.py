"""Measurements before a run: they suggest, and leave everything as it was."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from conftest import CPU, blobs, toy_job
from torchstone.engines.pytorch import snapshot
from torchstone.engines.pytorch.finders.batch import find_batch
from torchstone.engines.pytorch.finders.memory_use import available, peak_of
from torchstone.engines.pytorch.finders.rate import choose, find_rate, smooth
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.sources.tensors import TensorSource


def everything(job: Job) -> dict[str, torch.Tensor]:
    content = snapshot.take(job, Progress())
    return {f"{file}/{name}": v for file, part in content.tensors.items() for name, v in part.items()}


@pytest.mark.parametrize("is_trained", [False, True])
def test_finders_leave_weights_optimizer_average_and_generators_bit_for_bit(is_trained: bool) -> None:
    job = toy_job(epochs=1)
    if is_trained:
        fit(job, Progress())
    before = everything(job)
    find_rate(job, num=30)
    find_batch(job, wanted=16)
    after = everything(job)
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_run_after_the_range_test_is_the_run_without_it() -> None:
    one, two = toy_job(), toy_job()
    find_rate(two, num=20)
    torch.manual_seed(3)
    fit(one, Progress())
    torch.manual_seed(3)
    fit(two, Progress())
    assert all(torch.equal(a, b) for a, b in zip(one.model.parameters(), two.model.parameters(), strict=True))


def test_the_range_test_rises_exponentially_and_suggests_a_rate_that_learns() -> None:
    curve = find_rate(toy_job(average=None), num=60)
    assert curve.rates[0] == pytest.approx(1e-7)
    ratios = np.diff(np.log(curve.rates))
    assert np.allclose(ratios, ratios[0])
    assert curve.suggestion is not None
    assert 1e-4 < curve.suggestion < 1.0


def test_nothing_to_learn_gives_no_rate_instead_of_nonsense() -> None:
    source = TensorSource([torch.zeros(90, 8)], torch.arange(90) % 3)
    curve = find_rate(toy_job(source=source, model=nn.Linear(8, 3, bias=False), average=None), num=40)
    assert curve.suggestion is None
    assert "no usable slope" in curve.reason


def test_a_loss_that_is_not_finite_from_the_start_gives_no_rate() -> None:
    source = TensorSource([torch.full((90, 8), math.nan)], torch.arange(90) % 3)
    curve = find_rate(toy_job(source=source), num=20)
    assert curve.suggestion is None
    assert curve.rates == []


def test_the_steepest_fall_of_a_known_curve_is_found() -> None:
    rates = [10 ** (-5 + i / 20) for i in range(100)]
    losses = [2.0 - 1.5 / (1 + math.exp(-(i - 50) / 4)) for i in range(90)] + [3.0 * 1.2**i for i in range(10)]
    suggestion, _ = choose(rates, losses)
    assert suggestion is not None
    assert abs(math.log10(suggestion) - math.log10(rates[50])) < 0.15


def test_the_smoothed_loss_starts_at_the_first_and_follows_a_constant() -> None:
    assert smooth([2.0, 2.0, 2.0]) == pytest.approx([2.0, 2.0, 2.0])
    assert smooth([1.0, 3.0])[1] == pytest.approx((0.9 * 0.1 * 1 + 0.1 * 3) / (1 - 0.81))


BIG_AND_SMALL = """
import json, torch
from torchstone.engines.pytorch.finders.memory_use import peak_of
cpu = torch.device("cpu")
print(json.dumps([peak_of(lambda: None, cpu), peak_of(lambda: torch.ones(50_000_000).sum(), cpu)]))
"""


def test_the_peak_of_a_big_piece_of_work_is_seen() -> None:
    # in a process of its own: pages that earlier tests freed and the process keeps would hold the big piece unseen
    done = subprocess.run([sys.executable, "-c", BIG_AND_SMALL], capture_output=True, text=True, check=True)
    small, big = json.loads(done.stdout)
    if small is None or big is None:
        pytest.skip("peak memory cannot be reset here")
    assert 150e6 < big - small < 400e6
    assert available(CPU) > 0


def test_sizes_double_up_to_the_whole_set_where_memory_allows() -> None:
    found = find_batch(toy_job(average=None), wanted=32)
    assert [trial.size for trial in found.trials] == [8, 16, 32, 64, 75]
    assert found.largest == 75
    assert found.accumulate == 1
    assert found.fastest in (8, 16, 32, 64, 75)


def test_a_short_budget_proposes_accumulation() -> None:
    width = 2_000_000
    source = TensorSource([torch.arange(64.0)[:, None]], torch.arange(64) % 3)
    model = nn.Sequential(nn.Linear(1, 1), Wide(width), nn.Linear(1, 3))
    job = toy_job(source=source, model=model, average=None, rows=np.arange(64), validation=None)
    smallest = peak_of(lambda: None, CPU)
    if smallest is None:
        pytest.skip("peak memory cannot be reset here")
    found = find_batch(job, wanted=64, budget=smallest + 16 * width * 4 * 4)
    assert not found.trials[-1].fits
    assert 0 < found.largest < 64
    assert found.accumulate == math.ceil(64 / found.largest)


class Wide(nn.Module):
    """Blows each example up to `width` numbers for a moment."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return (inputs.expand(-1, self.width) * 1.5).square().mean(1, keepdim=True)


def test_blobs_are_what_the_toy_learns_from() -> None:
    assert len(blobs()) == 90
