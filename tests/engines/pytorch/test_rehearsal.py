"""A rehearsal says what assembling says, without data in the model and without a number in it."""

from __future__ import annotations

import csv
from typing import Any

import pytest
import torch

from torchstone.core import catalog
from torchstone.core.errors import StoneError
from torchstone.core.plan import Choice, Plan
from torchstone.core.recipe_file import recipe_for
from torchstone.engines.pytorch.assemble import Setting, assemble, fit_encoding, start
from torchstone.engines.pytorch.model_size import about
from torchstone.engines.pytorch.rehearsal import Rehearsed, refusals
from torchstone.flows.plan import Planned, make_plan

CASES: list[dict[str, Any]] = [
    {},
    {"train.device": "abacus"},
    {"train.freeze": ["nowhere"]},
    {"train.freeze": ["head"]},
    {"train.unfreeze": 1},
    {"train.freeze": ["layers"], "train.unfreeze": 1},
    {"train.sync_batchnorm": True},
    {"train.recompute": True},
    {"adapter.name": "lora"},
    {"init.name": "orthogonal"},
    {"init.name": "zero_residual"},
    {"loss.options.class_weights": [1.0, 2.0, 3.0]},
    {"loss.options.class_weights": [1.0, 2.0]},
    {"optimizer.name": "muon"},
    {"optimizer.name": "schedule_free", "averaging.name": "ema"},
    {"averaging.name": "ema"},
    {"parameters.groups": [{"match": "nowhere", "lr_scale": 0.5}]},
    {"data.resample.name": "smote", "data.resample.options.neighbors": 5, "data.resample.options.share": 1.0},
    {"data.resample.name": "smote", "data.resample.options.neighbors": 1, "data.resample.options.share": 1.0},
    {"data.resample.name": "tomek", "sampler.name": "self_paced"},
    {"sampler.name": "curriculum", "sampler.options.by": "given"},
    {"train.stop_on.metric": "loss", "train.stop_on.patience": 2},
]


IMAGE = about(num_outputs=2, channels=3, size=32, vocabulary=0, max_length=0, numbers=0, categories=0)
TEXT = about(num_outputs=2, channels=0, size=0, vocabulary=50, max_length=16, numbers=0, categories=0)
TABLE = about(num_outputs=2, channels=0, size=0, vocabulary=0, max_length=0, numbers=2, categories=0)


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Planned:
    folder = tmp_path_factory.mktemp("rehearsal")
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["a", "b", "label"], *([i, i * i % 7, f"k{int(i % 9 == 0)}"] for i in range(60))])
    return make_plan(recipe_for(str(folder / "t.csv")), project=folder)


def changed(plan: Plan, values: dict[str, Any]) -> Plan:
    kept = {
        field: choice for field, choice in plan.choices.items()
        if not any(name.endswith(".name") and field.startswith(name.removesuffix("name") + "options.")
                   for name in values)
    }  # fmt: skip
    return Plan({**kept, **{field: Choice(field, value, "user", "changed") for field, value in values.items()}})


def raised_by_assembling(setting: Setting) -> list[str]:
    try:
        assemble(setting, start(setting.plan))
    except StoneError as error:
        return [error.what]
    return []


@pytest.mark.parametrize("values", CASES, ids=str)
def test_a_rehearsal_refuses_what_assembling_refuses_in_its_words(values: dict[str, Any], planned: Planned) -> None:
    plan, dataset = changed(planned.plan, values), planned.dataset
    setting = Setting(plan, dataset, planned.task, {}, None)
    setting = Setting(plan, dataset, planned.task, fit_encoding(setting), None)
    threads = torch.get_num_threads()
    state = torch.random.get_rng_state()
    told = [error.what for error in refusals(Rehearsed(plan, dataset, planned.task, TABLE))]
    assert torch.equal(torch.random.get_rng_state(), state)
    at_step = raised_by_a_step(setting) if any(field.startswith("loss") for field in values) else []
    assert told == (raised_by_assembling(setting) or at_step)
    torch.set_num_threads(threads)


def raised_by_a_step(setting: Setting) -> list[str]:
    """What the first batch finds out: losses look at shapes when they are called."""
    job = assemble(setting, start(setting.plan))
    batch = next(iter(job.feed.epoch(0))).batches[0]
    try:
        job.loss(job.model(*batch.inputs), batch.target)
    except StoneError as error:
        return [error.what]
    return []


def test_a_model_is_built_only_where_a_setting_looks_into_it(
    planned: Planned, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []
    monkeypatch.setattr("torchstone.engines.pytorch.rehearsal.on_meta", lambda *given: built.append(given))
    refusals(Rehearsed(planned.plan, planned.dataset, planned.task, TABLE))
    assert not built
    refusals(Rehearsed(changed(planned.plan, {"train.freeze": ["x"]}), planned.dataset, planned.task, TABLE))
    assert len(built) == 1


MODELS = {
    "small_resnet": IMAGE, "resnet18": IMAGE, "convnext_tiny": IMAGE, "efficientnet_b0": IMAGE,
    "mobilenet_v3_small": IMAGE, "text_cnn": TEXT, "text_gru": TEXT, "text_lstm": TEXT, "text_transformer": TEXT,
    "table_mlp": TABLE, "table_resnet": TABLE,
}  # fmt: skip
SETTINGS: list[dict[str, Any]] = [
    *({"init.name": name} for name in catalog.names("torchstone.engines.pytorch.inits")),
    {"train.sync_batchnorm": True}, {"train.recompute": True}, {"adapter.name": "lora"}, {"optimizer.name": "muon"},
    {"parameters.layer_decay": 0.8}, {"train.freeze": ["0"]}, {"train.unfreeze": 1, "train.freeze": ["0"]},
    {"train.sync_batchnorm": True, "averaging.name": "swa"}, {"averaging.name": "ema", "train.recompute": True},
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("values", SETTINGS, ids=str)
def test_every_model_can_be_rehearsed_with_every_setting_that_looks_into_it(
    model: str, values: dict[str, Any], planned: Planned
) -> None:
    plan = changed(planned.plan, {"model.name": model, **values})
    for error in refusals(Rehearsed(plan, planned.dataset, planned.task, MODELS[model])):
        assert "meta" not in error.what  # only words for people: what a device without numbers says is none
