"""Gradual unfreezing: layers released from the last to the first, with fresh optimizer state, exact over a resume."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from test_pieces_in_the_loop import assembled
from test_resume_exact import final_state
from torch import nn

from conftest import toy_job
from torchstone.core.errors import StoneError
from torchstone.core.event import Event, Stop
from torchstone.engines.pytorch import checkpoint, snapshot
from torchstone.engines.pytorch.finders.pace import find_pace
from torchstone.engines.pytorch.freezing import freeze, frozen_modules
from torchstone.engines.pytorch.groups import parameter_groups, scaled_rates
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.optimizers.lamb import lamb
from torchstone.engines.pytorch.optimizers.sgd import sgd
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.remarks import receipt_of, remarks_on
from torchstone.engines.pytorch.unfreezing import unfreezing


def deep_net() -> nn.Module:
    """Three layers with BatchNorm and dropout, and a head; the same weights at every call."""
    torch.manual_seed(0)
    blocks = [nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.1)) for _ in range(3)]
    return nn.Sequential(*blocks, nn.Linear(8, 3))


MAKERS = {"adamw": lambda groups: torch.optim.AdamW(groups, lr=1e-2, fused=True), "lamb": lambda g: lamb(g, lr=1e-2),
          "sgd": lambda groups: sgd(groups, lr=0.05)}  # fmt: skip


def job_with(when: Any, folder: Path | None = None, name: str = "adamw", layer_decay: float = 1.0, **more: Any) -> Job:
    """Five epochs of eight steps; all but the head is frozen at first."""
    model = deep_net()
    freeze(model, [r"^[012]\."])
    releases = unfreezing(model, when, 5)
    frozen = frozen_modules(model)
    groups, _ = parameter_groups(model, weight_decay=0.01, layer_decay=layer_decay)
    optimizer = MAKERS[name](groups)
    rates = scaled_rates(optimizer)
    if releases is not None:
        releases.at(model, 0)
    return toy_job(folder, model=model, optimizer=optimizer, frozen=frozen, unfreezing=releases, base_rates=rates,
                   epochs=5, average=None, **more)  # fmt: skip


def moved(job: Job) -> dict[int, set[str]]:
    """By epoch: the layers that some weight or statistic moved in."""
    found: dict[int, set[str]] = {}
    last = copy.deepcopy(job.model.state_dict())

    def observe(event: Event) -> None:
        if event.kind == "step":
            now = job.model.state_dict()
            names = {name[0] for name in now if not torch.equal(now[name], last[name])}
            found.setdefault(event.values["epoch"], set()).update(names)
            last.update(copy.deepcopy(now))

    fit(job, Progress(), [observe])
    return found


def test_one_layer_an_epoch_is_released_from_the_last_to_the_first() -> None:
    """Weights, and BatchNorm's statistics with them: a frozen BatchNorm stays in eval mode until its release."""
    assert moved(job_with(1)) == {0: {"3"}, 1: {"2", "3"}, 2: {"1", "2", "3"}, 3: set("0123"), 4: set("0123")}


@pytest.mark.parametrize(("when", "expected"), [
    (2, {0: "3", 1: "3", 2: "23", 3: "23", 4: "123"}), ([1, 1], {0: "3", 1: "123", 2: "123", 3: "123", 4: "123"}),
    ([3], {0: "3", 1: "3", 2: "3", 3: "23", 4: "23"}),
])
def test_other_moments_may_be_given_and_the_rest_stays_frozen(when: Any, expected: dict[int, str]) -> None:
    assert moved(job_with(when)) == {epoch: set(layers) for epoch, layers in expected.items()}


def test_the_optimizer_begins_anew_with_what_is_released() -> None:
    job = job_with(1)
    stop = [lambda event: Stop("look") if event.kind == "step" and event.step == 11 else None]
    fit(job, Progress(), stop)
    steps = {name: float(job.optimizer.state[p]["step"]) for name, p in job.model.named_parameters()
             if p in job.optimizer.state}  # fmt: skip
    late = {f"2.{name}": 3.0 for name in ("0.weight", "0.bias", "1.weight", "1.bias")}
    assert steps == {"3.weight": 11.0, "3.bias": 11.0, **late}


def test_discriminative_rates_hold_for_released_layers() -> None:
    """Each layer at half the rate of the next, whenever it is released."""
    job = job_with(1, layer_decay=0.5)
    rate = {id(p): base for base, group in zip(job.base_rates, job.optimizer.param_groups, strict=True)
            for p in group["params"]}  # fmt: skip
    found = {name: rate[id(p)] for name, p in job.model.named_parameters() if name.endswith("weight")}
    assert found["3.weight"] == pytest.approx(1e-2)
    assert found["2.0.weight"] == found["2.1.weight"] == pytest.approx(5e-3)
    assert found["0.0.weight"] == pytest.approx(1.25e-3)
    assert moved(job)[3] == set("0123")


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("at", [7, 8, 11, 16, 29])
def test_a_run_that_is_cut_and_resumed_ends_the_same(name: str, at: int, tmp_path: Path) -> None:
    whole = job_with(1, name=name)
    one = final_state(whole, fit(whole, Progress()))
    cut = [lambda event: Stop("cut") if event.kind == "step" and event.step == at else None]
    fit(job_with(1, tmp_path, name=name), Progress(), cut)
    again = job_with(1, name=name)
    progress, notes = snapshot.restore(again, checkpoint.read(checkpoint.listed(tmp_path)[0]))
    assert (notes, progress.step) == ([], at)
    two = final_state(again, fit(again, progress))
    assert one.keys() == two.keys()
    assert all(torch.equal(v, two[k]) if isinstance(v, torch.Tensor) else v == two[k] for k, v in one.items())


def test_each_release_is_told_once() -> None:
    told: list[str] = []
    fit(job_with(2), Progress(), [lambda e: told.append(e.values["text"]) if e.kind == "note" else None])  # type: ignore[func-returns-value]
    assert told == ["released after epoch 2: 2 (88 parameters)", "released after epoch 4: 1 (88 parameters)"]
    remarks = remarks_on(job_with(2))
    assert remarks[1] == (
        "frozen at first, released: 2 (88 parameters) after epoch 2, 1 (88 parameters) after epoch 4; "
        "never in 5 epochs: 0 (88 parameters)"
    )
    reasons = {row["reason"] for row in receipt_of(job_with([1])) if row["name"][0] in "12"}
    assert reasons == {"frozen at first", "frozen: not in the optimizer"}


def test_measuring_the_pace_leaves_what_is_frozen_as_it_is() -> None:
    job = job_with(1)
    before = copy.deepcopy(job.model.state_dict())
    trained: list[int] = []
    job.optimizer.register_step_pre_hook(lambda *_: trained.append(sum(p.grad is not None for p in job.parameters)))
    find_pace(job)
    assert set(trained) == {14}  # what a step costs when all is released: the most
    assert all(torch.equal(value, before[name]) for name, value in job.model.state_dict().items())
    assert [p.requires_grad for p in job.model.parameters()].count(True) == 2


@pytest.mark.parametrize(("when", "said"), [
    ([2, 1], "rising order"), ([], "rising order"), ([0, 1], "rising order"), ([1, 2, 3, 4], "4 releases and 3 frozen"),
    (5, "the run has 5"), ([7], "the run has 5"),
])
def test_moments_that_cannot_be_meant_are_refused(when: Any, said: str) -> None:
    with pytest.raises(StoneError, match=said):
        job_with(when)


def test_a_recipe_asks_for_it(tmp_path: Path) -> None:
    with pytest.raises(StoneError, match="nothing is frozen") as caught:
        assembled(tmp_path, "train.unfreeze=1")
    assert "['^(?!head)']" in str(caught.value.fix)  # the last layer of this model, by its name
    job = assembled(tmp_path, "model=table_mlp", "train.freeze=[\"^(?!head)\"]", "train.unfreeze=1", "train.epochs=4",
                    "parameters.layer_decay=0.5", "train.l1=0.01")  # fmt: skip
    assert job.unfreezing is not None
    names = {name for name, p in job.model.named_parameters() if p.requires_grad}
    assert names == {"head.weight", "head.bias"}
    assert fit(job, Progress()).status == "finished"
    assert all(p.requires_grad for p in job.model.parameters())
