"""Averages of the weights, and BatchNorm's statistics for them, against torch.optim.swa_utils."""

from __future__ import annotations

import copy
import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.optim.swa_utils import AveragedModel, update_bn

from conftest import accuracy, small_net, toy_job
from torchstone.core.errors import StoneError
from torchstone.core.event import Event, Stop
from torchstone.engines.pytorch import checkpoint, snapshot
from torchstone.engines.pytorch.averaging import Averaging
from torchstone.engines.pytorch.averaging.ema import ema
from torchstone.engines.pytorch.averaging.swa import swa
from torchstone.engines.pytorch.freezing import freeze
from torchstone.engines.pytorch.groups import parameter_groups
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.optimizers.schedule_free import Averaged, schedule_free
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.recalibration import measured
from torchstone.engines.pytorch.scoring import averaged_state, score


def job_with(average: str, folder: Path | None = None, model: Any = None, **changes: Any) -> Job:
    """A toy job of 4 epochs with 8 steps each that averages in this way; small_net has a BatchNorm and a dropout."""
    model = model or small_net()
    if average == "schedule_free":
        optimizer = schedule_free([{"params": list(model.parameters())}], lr=3e-2)
        found = Averaged(model, optimizer)
        return toy_job(folder, model=model, optimizer=optimizer, average=found, epochs=4, **changes)
    made: dict[str, Averaging] = {
        "swa by epochs": swa(model, start=0.5), "swa by steps": swa(model, start=0.3, every=5),
        "ema": ema(model, decay=0.9, recalibrate=3),
    }  # fmt: skip
    return toy_job(folder, model=model, average=made[average], epochs=4, **changes)


WAYS = ("swa by epochs", "swa by steps", "ema", "schedule_free")


@pytest.mark.parametrize(("every", "moments"), [(0, (16, 24, 32)), (5, (16, 21, 26, 31))])
def test_swa_is_torchs_averaged_model_fed_at_the_same_moments(every: int, moments: tuple[int, ...]) -> None:
    model = small_net()
    reference = AveragedModel(model)

    def collect(event: Event) -> None:
        if event.kind == "step" and event.step in moments:
            reference.update_parameters(model)

    job = toy_job(model=model, average=swa(model, start=0.5, every=every), epochs=4)
    fit(job, Progress(), [collect])
    assert job.average is not None
    assert job.average.num == len(moments) == reference.n_averaged
    found = job.average.state()
    for name, value in reference.module.named_parameters():
        assert torch.allclose(found[name], value, rtol=1e-6, atol=1e-8), name
        assert not torch.equal(found[name], model.state_dict()[name]), name


def test_the_statistics_are_those_of_torchs_update_bn_without_dropout() -> None:
    job = job_with("swa by epochs", batch_size=15, accumulate=1)  # 75 rows: each batch counts alike
    fit(job, Progress())
    saved = averaged_state(job)
    assert saved is not None
    reference = small_net(dropout=0.0)
    reference.load_state_dict(saved)
    update_bn([batch.inputs[0] for window in job.feed.epoch(0) for batch in window.batches], reference)
    for key in ("running_mean", "running_var"):
        found, right = saved[f"1.{key}"], reference.state_dict()[f"1.{key}"]
        assert torch.allclose(found, right, rtol=1e-5, atol=1e-6), key
        assert not torch.allclose(found, job.model.state_dict()[f"1.{key}"], rtol=1e-3), "nothing was measured"


def test_an_example_counts_alike_in_a_short_batch() -> None:
    """Batches of 10 and a last one of 5: the first layer's mean is that of all 75 rows."""
    job = job_with("ema")
    fit(job, Progress())
    state = averaged_state(job)
    assert state is not None
    found = measured(job, state, 200)["1.running_mean"]
    inputs = job.feed.source.batch(job.feed.rows, None).inputs[0]
    assert torch.allclose(found, (inputs @ state["0.weight"].T + state["0.bias"]).mean(0), atol=1e-5)
    fewer = measured(job, state, 2)["1.running_mean"]
    rows = np.concatenate(list(itertools.islice((w.rows for w in job.feed.epoch(0)), 2)))
    inputs = job.feed.source.batch(rows, None).inputs[0]
    assert torch.allclose(fewer, (inputs @ state["0.weight"].T + state["0.bias"]).mean(0), atol=1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_measuring_leaves_the_model_and_the_generators_as_they_were(way: str) -> None:
    job = job_with(way)
    fit(job, Progress())
    before, state = copy.deepcopy(job.model.state_dict()), torch.get_rng_state()
    modes = [module.training for module in job.model.modules()]
    momenta = [getattr(module, "momentum", None) for module in job.model.modules()]
    assert job.average is not None
    measured(job, job.average.state(), 5)
    assert all(torch.equal(value, before[name]) for name, value in job.model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)
    assert [module.training for module in job.model.modules()] == modes
    assert [getattr(module, "momentum", None) for module in job.model.modules()] == momenta
    assert not any(module._forward_pre_hooks for module in job.model.modules())


@pytest.mark.parametrize("way", WAYS)
def test_a_checkpoint_holds_what_was_judged_and_apart_from_it_the_trained_weights(way: str, tmp_path: Path) -> None:
    job = job_with(way, tmp_path)
    progress = fit(job, Progress())
    last = checkpoint.read(checkpoint.listed(tmp_path)[0])
    assert all(torch.equal(value, last.tensors["model"][name]) for name, value in job.model.state_dict().items())
    other = replace(job, average=None)
    other.model.load_state_dict(last.tensors["averaged"])
    assert job.validation is not None
    assert progress.last is not None
    result = score(other, job.validation)
    assert result.loss == progress.last["metrics"]["loss"]
    assert accuracy(result.scores, job.validation.target) == progress.last["metrics"]["accuracy"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("at", [5, 16, 19, 27])
def test_a_run_that_is_cut_and_resumed_ends_with_the_same_average(way: str, at: int, tmp_path: Path) -> None:
    whole = job_with(way)
    fit(whole, Progress())
    stop = [lambda event: Stop("enough") if event.kind == "step" and event.step == at else None]
    fit(job_with(way, tmp_path), Progress(), stop)
    again = job_with(way)
    progress, notes = snapshot.restore(again, checkpoint.read(checkpoint.listed(tmp_path)[0]))
    assert (notes, progress.step) == ([], at)
    fit(again, progress)
    one, other = averaged_state(whole), averaged_state(again)
    assert one is not None
    assert other is not None
    assert all(torch.equal(value, other[name]) for name, value in one.items())
    assert all(torch.equal(v, again.model.state_dict()[name]) for name, v in whole.model.state_dict().items())


def test_a_frozen_batchnorm_keeps_its_statistics_in_the_average() -> None:
    model = small_net()
    frozen = freeze(model, [r"^1\."])
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay=0.0)[0], lr=1e-2)
    before = copy.deepcopy(model.state_dict())
    job = job_with("swa by epochs", model=model, optimizer=optimizer, frozen=frozen)
    fit(job, Progress())
    state = averaged_state(job)
    assert state is not None
    assert all(torch.equal(state[name], before[name]) for name in before if name.startswith("1."))


def test_before_the_first_collection_the_weights_themselves_are_judged() -> None:
    job = job_with("swa by epochs")
    fit(replace(job, epochs=4), Progress(), [lambda e: Stop("early") if e.kind == "step" and e.step == 9 else None])
    state = averaged_state(job)
    assert state is not None
    assert all(torch.equal(state[name], value) for name, value in job.model.state_dict().items())


def test_the_average_is_measured_once_for_judging_and_saving(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = []
    module = "torchstone.engines.pytorch.recalibration.measured"
    monkeypatch.setattr(module, lambda *given: calls.append(1) or measured(*given))
    fit(job_with("swa by epochs", tmp_path, every_windows=3), Progress())
    assert len(calls) == 3


@pytest.mark.parametrize("options", [{"start": 1.0}, {"start": -0.1}, {"every": -1}, {"recalibrate": -1}])
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(StoneError, match="start must be"):
        swa(small_net(), **options)
