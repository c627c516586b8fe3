"""Losses, optimizers and schedules as a recipe names them, trained, saved and resumed by the loop."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from conftest import blobs, small_net, toy_job
from torchstone.core.errors import StoneError
from torchstone.core.event import Stop
from torchstone.core.plan import Choice, Plan
from torchstone.core.recipe_file import recipe_for
from torchstone.engines.pytorch import checkpoint, losses, snapshot
from torchstone.engines.pytorch.assemble import Setting, _check_shares, assemble, fit_encoding
from torchstone.engines.pytorch.feed import Feed
from torchstone.engines.pytorch.groups import parameter_groups
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.losses.focal import focal
from torchstone.engines.pytorch.losses.info_nce import info_nce
from torchstone.engines.pytorch.losses.nt_xent import nt_xent
from torchstone.engines.pytorch.losses.triplet import triplet
from torchstone.engines.pytorch.optimizers.lamb import lamb
from torchstone.engines.pytorch.optimizers.lion import lion
from torchstone.engines.pytorch.optimizers.muon import Muon, muon
from torchstone.engines.pytorch.optimizers.nadam import nadam
from torchstone.engines.pytorch.optimizers.sam import sam
from torchstone.engines.pytorch.optimizers.schedule_free import Averaged, schedule_free
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.remarks import remarks_on
from torchstone.engines.pytorch.strategies.single import single
from torchstone.flows.plan import make_plan
from torchstone.parts.schedules.warmup_stable_decay import warmup_stable_decay

PARTS = {"lion": lambda g: lion(g, lr=3e-3), "lamb": lambda g: lamb(g, lr=3e-2), "nadam": nadam,
         "muon": lambda g: muon(g, lr=3e-2), "schedule_free": lambda g: schedule_free(g, lr=3e-2),
         "sam": lambda g: sam(g, base="adamw", lr=1e-2)}


def job_with(name: str, folder: Path | None = None):
    """A toy job with this optimizer, focal loss and a warm-up, stable, decay rate."""
    model = small_net()
    groups, _ = parameter_groups(model, weight_decay=0.01)
    if name == "muon":
        groups = [{key: value for key, value in group.items() if key != "name"} for group in groups]
    optimizer = PARTS[name](groups)
    changes = {"average": Averaged(model, optimizer)} if name == "schedule_free" else {"average": None}
    return toy_job(folder, model=model, optimizer=optimizer, loss=focal(), schedule=warmup_stable_decay(), **changes)


@pytest.mark.parametrize("name", PARTS)
def test_a_run_that_is_cut_and_resumed_ends_with_the_same_weights(name: str, tmp_path: Path):
    whole = job_with(name)
    fit(whole, Progress())
    stop = [lambda event: Stop("enough") if event.kind == "step" and event.step == 11 else None]
    assert fit(job_with(name, tmp_path / "cut"), Progress(), stop).status == "stopped"
    again = job_with(name)
    where, notes = snapshot.restore(again, checkpoint.read(checkpoint.listed(tmp_path / "cut")[0]))
    assert notes == []
    assert where.step == 11
    fit(again, where)
    for (label, one), other in zip(again.model.state_dict().items(), whole.model.state_dict().values(), strict=True):
        assert torch.equal(one, other), label


@pytest.mark.parametrize("name", PARTS)
def test_the_toy_is_learnt(name: str):
    progress = fit(replace(job_with(name), epochs=6), Progress())
    assert progress.best is not None
    assert progress.best["metrics"]["accuracy"] >= 0.8


def test_sam_in_the_loop_is_sam_by_hand_and_batchnorm_sees_each_example_once():
    """Foret et al. 2021, algorithm 1, with the gradient of the mean loss of each window."""
    job = toy_job(model=small_net(dropout=0.0), average=None, validation=None, epochs=1, clip_norm=0.0, accumulate=1)
    groups = [{"params": list(job.model.parameters())}]
    optimizer = sam(groups, base="sgd", lr=0.1, rho=0.1, base_options={"momentum": 0.0, "nesterov": False})
    job = replace(job, optimizer=optimizer, base_rates=[0.1], schedule=lambda step, total: 1.0)
    reference = small_net(dropout=0.0)
    weights = list(reference.parameters())
    for window in job.feed.epoch(0):
        batch = window.batches[0]
        plain = torch.autograd.grad(torch.nn.functional.cross_entropy(reference(*batch.inputs), batch.target), weights)
        statistics = [buffer.clone() for buffer in reference.buffers()]
        norm = torch.sqrt(sum(g.square().sum() for g in plain))
        start = [w.detach().clone() for w in weights]
        with torch.no_grad():
            for w, g in zip(weights, plain, strict=True):
                w.add_(g * 0.1 / (norm + 1e-12))
        uphill = torch.autograd.grad(torch.nn.functional.cross_entropy(reference(*batch.inputs), batch.target), weights)
        with torch.no_grad():
            for w, s, g in zip(weights, start, uphill, strict=True):
                w.copy_(s - 0.1 * g)
            for buffer, value in zip(reference.buffers(), statistics, strict=True):
                buffer.copy_(value)
    fit(job, Progress())
    for (label, one), other in zip(job.model.state_dict().items(), reference.state_dict().values(), strict=True):
        assert torch.allclose(one, other, atol=1e-5), label


def test_sam_with_fp16_is_refused(tmp_path: Path):
    with open(tmp_path / "points.csv", "w", newline="") as file:
        csv.writer(file).writerows([["a", "b", "label"], *([i, i * 7 % 5, "yn"[i % 2]] for i in range(60))])
    recipe = recipe_for(str(tmp_path / "points.csv"), overrides=["optimizer=sam", "train.precision=fp16"])
    with pytest.raises(StoneError, match="loss scaler"):
        make_plan(recipe, project=tmp_path)


@pytest.mark.parametrize("mistake", ["optimizer.lr=-1", "optimizer.weight_decay=-1", "optimizer.betas=[2, 2]"])
def test_an_optimizer_that_torch_refuses_is_a_mistake_of_the_recipe(mistake: str, tmp_path: Path):
    with open(tmp_path / "points.csv", "w", newline="") as file:
        csv.writer(file).writerows([["a", "b", "label"], *([i, i * 7 % 5, "yn"[i % 2]] for i in range(60))])
    field = mistake.partition("=")[0]
    with pytest.raises(StoneError, match=f"--set {field}="):
        make_plan(recipe_for(str(tmp_path / "points.csv"), overrides=[mistake]), project=tmp_path)


def test_what_is_judged_after_schedule_free_is_the_averaged_weights():
    job = job_with("schedule_free")
    fit(job, Progress())
    live = {name: value.clone() for name, value in job.model.state_dict().items()}
    judged = job.average.state()
    assert not torch.equal(live["0.weight"], judged["0.weight"])
    job.optimizer.eval()
    assert torch.equal(job.model.state_dict()["0.weight"], judged["0.weight"])


class TwoViews(torch.nn.Module):
    """Embeddings of two noisy views of each example."""

    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Linear(8, 4)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        views = [self.net(inputs + 0.1 * torch.randn_like(inputs)) for _ in range(2)]
        return torch.stack(views, dim=1)


def test_a_learnt_temperature_is_trained_by_the_loop_and_is_in_its_checkpoints(tmp_path: Path):
    torch.manual_seed(0)
    loss = info_nce(is_learnt=True)
    model = losses.with_weights_of(loss, TwoViews())
    job = toy_job(tmp_path / "c", model=model, loss=loss, average=None, validation=None)
    fit(job, Progress())
    kept = checkpoint.read(checkpoint.listed(tmp_path / "c")[0]).tensors["model"]["loss_weights.log_scale"]
    assert torch.equal(kept, loss.log_scale)
    assert float(kept) != pytest.approx(-np.log(0.07), abs=1e-4)


def test_a_batch_without_a_triplet_is_left_out_of_the_run():
    source = blobs(num_classes=1)
    rows = []
    fit(toy_job(source=source, loss=triplet(), average=None, validation=None),
        Progress(), [lambda event: rows.append(event.values) if event.kind == "step" else None])
    assert {row["skipped"] for row in rows} == {"no target counts"}


def setting_of(folder: Path, *settings: str) -> Setting:
    """What a job is assembled from, for sixty rows of three numbers, with these settings over the plan."""
    rng = np.random.default_rng(0)
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["a", "b", "c", "label"], *([*rng.normal(size=3), f"k{i % 3}"] for i in range(60))])
    planned = make_plan(recipe_for(str(folder / "t.csv"), overrides=settings), project=folder)
    setting = Setting(planned.plan, planned.dataset, planned.task, {}, None)
    return replace(setting, encoding=fit_encoding(setting))


def assembled(folder: Path, *settings: str):
    return assemble(setting_of(folder, *settings), single(torch.device("cpu")))


def test_a_recipe_names_the_parts_and_sets_rates_by_name_and_by_layer(tmp_path: Path):
    job = assembled(
        tmp_path, "loss=focal", "loss.gamma=1.5", "optimizer=lion", "optimizer.lr=1e-3", "schedule=step",
        "schedule.milestones=[0.5, 0.9]", "parameters.layer_decay=0.5",
        "parameters.groups=[{match: bias, weight_decay: 0.25}]", "train.epochs=2",
    )  # fmt: skip
    assert type(job.optimizer).__name__ == "Lion"
    assert min(job.base_rates) < 1e-3 == max(job.base_rates)
    assert 0.25 in {group["weight_decay"] for group in job.optimizer.param_groups}
    assert job.schedule(99, 100) == pytest.approx(0.01)
    assert "shares of the learning rate" in remarks_on(job)[0]
    assert fit(job, Progress()).status == "finished"


def test_muon_by_recipe_takes_hidden_matrices_only(tmp_path: Path):
    job = assembled(tmp_path, "optimizer=muon", "train.epochs=1")
    assert isinstance(job.optimizer, Muon)
    assert [type(part).__name__ for part in job.optimizer.parts] == ["Muon", "AdamW"]
    assert fit(job, Progress()).status == "finished"


@pytest.mark.parametrize(("settings", "said"), [
    (("loss=triplet",), "for a loop of your own"),
    (("optimizer=schedule_free", "averaging=ema"), "average them twice"),
    (("optimizer=adafactor", "schedule=one_cycle"), "this optimizer has none"),
    (("parameters.groups=[{match: nowhere, lr_scale: 0.1}]",), "in no parameter's name"),
])
def test_what_would_be_wrong_is_refused_before_the_first_step(tmp_path: Path, settings, said):
    with pytest.raises(StoneError, match=said):
        assembled(tmp_path, *settings)


@pytest.mark.parametrize(
    ("batch_size", "world", "is_refused"), [(16, 2, False), (19, 2, True), (19, 1, False), (8, 5, True)]
)
def test_a_rank_may_not_be_left_without_examples_to_compare(tmp_path: Path, batch_size, world, is_refused):
    # no recipe leads here: a loss of one's own, by an entry point, may compare the examples of a batch
    planned = setting_of(tmp_path).plan
    plan = Plan({**planned.choices, "loss.name": Choice("loss.name", "nt_xent", "user", "a loss of one's own")})
    feed = Feed(blobs(60), np.arange(60), batch_size, seed=0, world=world)  # 19 leaves a rest of 3
    if not is_refused:
        return _check_shares(plan, nt_xent(), feed)
    with pytest.raises(StoneError, match=f"for {world} processes"):
        _check_shares(plan, nt_xent(), feed)
    return _check_shares(plan, focal(), feed)
