"""Rules over plans at their thresholds, and over plans that the program itself makes."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from torchstone.core import catalog
from torchstone.core.plan import Choice, Plan, Planning
from torchstone.core.recipe_file import recipe_for
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.model_size import size_of
from torchstone.flows.plan import make_plan
from torchstone.flows.train import train
from torchstone.rules.recipe import (
    corrected_twice,
    decay_on_norms,
    large_batch,
    mix_with_hard_loss,
    model_exceeds_memory,
    nothing_to_select_by,
    schedule_misses_run,
    setting_without_effect,
    softmax_before_loss,
)
from torchstone.rules.recipe._toy import MULTI, num_steps, planning


def num(rule: Any, subject: Planning) -> int:
    return len(list(rule.check(subject)))


def test_a_schedule_may_name_the_last_step_and_none_beyond() -> None:
    assert num_steps(planning()) == 160
    for at, found in ((159, 0), (160, 1)):
        assert num(schedule_misses_run, planning(schedule__options__warmup=at)) == found
        assert num(schedule_misses_run, planning(schedule__options__milestones=[0.5, at])) == found
    assert num(schedule_misses_run, planning(schedule__options__warmup=0.5, schedule__options__cycles=160)) == 0
    assert num(schedule_misses_run, planning(schedule__options__cycles=161)) == 1


@pytest.mark.parametrize(
    ("pattern", "found"),
    [("norm", 1), ("bias$", 1), ("embed", 1), (".", 1), ("bn", 1), ("head.*weight$", 0), ("conv", 0), ("(", 0)],
)
def test_patterns_that_reach_norms_biases_and_embeddings_are_found(pattern: str, found: int) -> None:
    groups = [{"match": "head", "lr_scale": 2.0}, {"match": pattern, "weight_decay": 0.1}]
    assert num(decay_on_norms, planning(parameters__groups=groups)) == found


def test_validation_is_missed_by_early_stopping_and_plateau_alone() -> None:
    none = {"num_validation": 0}
    assert num(nothing_to_select_by, planning(facts=none)) == 0
    assert num(nothing_to_select_by, planning(facts=none, schedule__name="plateau", train__patience=2)) == 2


@pytest.mark.parametrize(
    "values",
    [
        {"train__workers": 2},
        {"clipping__name": "value", "clipping__options__most": 1.0},
        {"averaging__name": "ema", "averaging__options__decay": 0.0},
        {"parameters__layer_decay": 1.0},
        {"mix__name": "mixup", "train__batch_size": 1},
        {"train__patience": 10},
        {"train__recompute": True},
        {"train__accumulate": 65},
    ],
)
def test_each_idle_setting_is_found_once_if_it_is_the_users(values: dict[str, Any]) -> None:
    subject = planning(facts={"is_heavy": False, "num_blocks": 0}, **values)
    assert num(setting_without_effect, subject) == 1
    as_planned = Plan({c.field: Choice(c.field, c.value, "default", "usual") for c in subject.plan})
    assert num(setting_without_effect, Planning(as_planned, subject.task, subject.facts)) == 0


@pytest.mark.parametrize(
    "values",
    [
        {"clipping__name": "value", "clipping__options__most": 0.9},
        {"clipping__name": "value", "clipping__options__most": 1.0, "train__clip_norm": 0},
        {"averaging__name": "ema", "averaging__options__decay": 0.9},
        {"parameters__layer_decay": 0.9},
        {"train__recompute": True, "train__accumulate": 64},
    ],
)
def test_settings_that_act_are_left_alone(values: dict[str, Any]) -> None:
    assert num(setting_without_effect, planning(facts={"is_heavy": True}, train__workers=1, **values)) == 0


def test_weights_and_a_sampler_are_one_remedy_too_many_only_where_both_act() -> None:
    def both(sampler: str, weights: object, power: float = 0.0) -> int:
        return num(corrected_twice, planning(
            sampler__name=sampler, sampler__options__power=power, loss__options__class_weights=weights,
        ))  # fmt: skip

    assert both("oversampled", [1.0, 2.0]) == 1
    assert both("oversampled", [1.0, 1.9]) == 0
    assert both("class_balanced", [1.0, 9.0], power=1.0) == 0
    assert both("shuffled", [1.0, 9.0]) == both("oversampled", None) == 0


def test_mixed_targets_are_fine_for_several_labels() -> None:
    assert num(mix_with_hard_loss, planning(MULTI, mix__name="mixup", loss__name="binary_cross_entropy")) == 0


def test_a_large_batch_is_one_above_the_threshold() -> None:
    assert num(large_batch, planning(train__batch_size=4096)) == 0
    assert num(large_batch, planning(train__batch_size=4097)) == 1


def test_memory_is_compared_with_what_the_planned_optimizer_takes() -> None:
    facts = {"parameters": 10**9, "weight_bytes": 4 * 10**9, "memory_budget": 14 * 10**9}
    assert num(model_exceeds_memory, planning(facts=facts)) == 1  # 16 bytes for each
    assert num(model_exceeds_memory, planning(facts=facts, optimizer__name="lion")) == 0  # 12
    assert num(model_exceeds_memory, planning(facts={**facts, "state_owners": 2})) == 0  # 12: two ranks share the state


def test_a_sigmoid_is_found_before_its_loss_and_not_before_another() -> None:
    facts = {"last_operation": "SigmoidBackward0"}
    assert num(softmax_before_loss, planning(MULTI, facts=facts, loss__name="binary_cross_entropy")) == 1
    assert num(softmax_before_loss, planning(facts=facts, loss__name="mse")) == 0


@pytest.mark.parametrize(("last", "name"), [(nn.Softmax(1), "SoftmaxBackward0"), (nn.Sigmoid(), "SigmoidBackward0"),
                                            (nn.Identity(), "AddmmBackward0")])  # fmt: skip
def test_the_last_operation_of_any_model_is_seen_without_data(
    last: nn.Module, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def own(shape: Shape) -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(shape.channels * shape.size**2, shape.num_outputs), last)

    monkeypatch.setattr(catalog, "find", lambda folder, part: own)
    size = size_of("own", Shape(3, channels=1, size=8), {}, "image")
    assert size is not None
    assert size.last_operation == name


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., tuple[Planning, set[str]]]:
    path = tmp_path / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["a", "b", "label"], *([i * i % 37, i % 11, f"k{i % 2}"] for i in range(90))])

    def plan(*settings: str) -> tuple[Planning, set[str]]:
        made = make_plan(recipe_for(str(path), overrides=settings), project=tmp_path)
        return Planning(made.plan, made.task, {}), {f.code for f in made.findings if f.code.startswith("PLN")}

    return plan


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        (["train.workers=2"], "PLN114"),
        (["train.patience=500"], "PLN114"),
        (["schedule={name: constant, warmup: 100000}"], "PLN110"),
        (["schedule={name: step, milestones: [30000]}"], "PLN110"),
        (["parameters.groups=[{match: bias, weight_decay: 0.1}]"], "PLN111"),
        (["data.split={train: 0.8, validation: 0.0, test: 0.2}", "train.patience=3"], "PLN113"),
        (["optimizer=schedule_free", "schedule=cosine"], "PLN115"),
        (["loss={name: cross_entropy, class_weights: [0.2, 1.8]}", "sampler=class_balanced"], "PLN116"),
    ],
)
def test_a_sick_recipe_is_found_by_its_rule_and_the_plans_own_by_none(
    settings: list[str], code: str, table: Callable[..., tuple[Planning, set[str]]]
) -> None:
    assert code in table(*settings)[1]
    assert table()[1] == set()


def test_schedule_free_by_itself_is_planned_without_a_finding(table: Callable[..., tuple[Planning, set[str]]]) -> None:
    planned, codes = table("optimizer=schedule_free")
    assert planned.plan["schedule.name"] == "constant"
    assert codes == set()


def test_a_setting_that_would_be_ignored_stops_the_run_before_it_starts(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["a", "b", "label"], *([i * i % 37, i % 11, f"k{i % 2}"] for i in range(90))])
    assert train(recipe_for(str(path), overrides=["train.workers=2"]), project=tmp_path).status == "blocked"
