"""Values out of range: refused with the plan, at their line, all at once."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.recipe_file import read_recipe, recipe_for
from torchstone.flows.plan import make_plan


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["a", "b", "label"], *([i, i * i, f"k{i % 2}"] for i in range(60))])
    return path


REFUSED = {
    "model.width=0": "width is 0; it must be 1 or above",
    "model.depth=-3": "depth is -3",
    "model.dropout=1.0": "dropout is 1; it must be from 0 to below 1",
    "optimizer.lr=0.0": "lr is 0; it must be above 0",
    "optimizer.lr=-1.0": "lr is -1",
    "optimizer.lr=1e400": "finite",
    "optimizer.weight_decay=-0.1": "weight_decay is -0.1",
    "optimizer.betas=[0.9, 1.5]": "--set optimizer.betas",
    "loss={name: focal, gamma: -1.0}": "gamma",
    "schedule.warmup=-0.5": "warmup",
    "schedule={name: step, milestones: [2.0]}": "milestones are [2.0]",
    "sampler={name: class_balanced, power: 3.0}": "power",
    "averaging={name: ema, decay: 1.5}": "decay",
    "clipping={name: value, most: 0.0}": "most",
    "model={name: table_resnet, widening: -1.0}": "widening is -1; it must be above 0",
    "optimizer.eps=0": "eps is 0; it must be above 0",
    "optimizer={name: sgd, momentum: 1.5}": "momentum is 1.5; it must be from 0 to below 1",
    "optimizer={name: rmsprop, alpha: 100}": "alpha is 100",
    "loss.label_smoothing=1.5": "label_smoothing is 1.5; it must be from 0 to 1",
    "loss.class_weights=[-1, 2]": "each must be 0 or above",
    "loss.class_weights=[0, 0]": "and one above 0",
    "init={name: orthogonal, gain: 0.0}": "gain is 0; it must be above 0",
    "schedule={name: cosine_restarts, cycles: 1000000}": "more than 1,000 cycles",
}


@pytest.mark.parametrize("setting", REFUSED)
def test_a_value_out_of_range_is_refused_with_the_plan_and_by_its_name(setting: str, table: Path) -> None:
    with pytest.raises(StoneError) as caught:
        make_plan(recipe_for(str(table), overrides=[setting]), project=table.parent)
    assert REFUSED[setting] in str(caught.value)
    assert setting.partition("=")[0].partition(".")[0] in str(caught.value)


@pytest.mark.parametrize(("setting", "told"), [
    ("model={name: text_transformer, heads: 0}", "heads is 0; it must be 1 or above"),
    ("model={name: text_transformer, width: 0}", "width is 0; it must be 1 or above"),
    ("model={name: text_cnn, widths: [2, 0]}", "widths are [2, 0]; each must be 1 or above"),
])  # fmt: skip
def test_a_count_below_one_is_told_once_where_the_model_cannot_even_be_built(
    setting: str, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    rows = [[f"a few words {i}", f"k{i % 2}"] for i in range(60)]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["text", "label"], *rows])
    with pytest.raises(StoneErrors) as caught:
        make_plan(recipe_for(str(path), overrides=[setting]), project=tmp_path)
    field = f"model.{told.split()[0]}"
    assert [(error.what, error.where) for error in caught.value.errors] == [(told, f"--set {setting} {field}")]


def test_all_of_them_are_told_at_once_each_with_its_line(table: Path) -> None:
    path = table.parent / "torchstone.yaml"
    path.write_text(
        f"data: {{path: {table}}}\noptimizer:\n  lr: -1.0\nmodel:\n  width: 0\n"
        "loss:\n  name: focal\n  gamma: -2.0\n", encoding="utf-8",
    )  # fmt: skip
    with pytest.raises(StoneErrors) as caught:
        make_plan(read_recipe(path), project=table.parent)
    told = str(caught.value)
    assert len(caught.value.errors) == 3
    for place in ("torchstone.yaml:3 optimizer.lr", "torchstone.yaml:5 model.width", "torchstone.yaml:8 loss.gamma"):
        assert place in told


def test_a_model_that_refuses_what_goes_together_is_placed_at_an_option(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [[f"a few words {i}", f"k{i % 2}"] for i in range(60)]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["text", "label"], *rows])
    settings = ["model.name=text_transformer", "model.width=30", "model.heads=4"]
    with pytest.raises(StoneError) as caught:
        make_plan(recipe_for(str(path), overrides=settings), project=tmp_path)
    assert "--set model.width" in str(caught.value)


@pytest.mark.parametrize("setting", ["model.depth=3", "optimizer.lr=1e-4", "optimizer=muon", "optimizer=sam",
                                     "averaging=ema", "averaging=swa", "schedule=one_cycle", "clipping=adaptive",
                                     "sampler=undersampled"])  # fmt: skip
def test_values_in_range_are_left_alone(setting: str, table: Path) -> None:
    make_plan(recipe_for(str(table), overrides=[setting]), project=table.parent)
