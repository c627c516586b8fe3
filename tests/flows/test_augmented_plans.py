"""What a recipe may ask for in augmentation, norms and first weights, and what a plan makes of it."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.recipe_file import recipe_for
from torchstone.flows.plan import Planned, make_plan

RNG = np.random.default_rng(0)


def planned(folder: Path, kind: str, *settings: str) -> Planned:
    """The plan of forty small examples with these settings."""
    if kind == "image":
        data = folder / "pictures"
        for i in range(40):
            place = data / f"k{i % 2}"
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(RNG.integers(0, 256, (12, 12), np.uint8)).save(place / f"{i}.png")
    else:
        data = folder / "t.csv"
        with data.open("w", newline="", encoding="utf-8") as file:
            rows = [[f"some words {i} of a text that is long", f"k{i % 2}"] for i in range(40)]
            csv.writer(file).writerows([["text", "label"], *rows])
    return make_plan(recipe_for(data, overrides=settings), project=folder)


def test_options_of_each_new_part_stand_in_the_plan_with_their_defaults(tmp_path: Path) -> None:
    plan = planned(
        tmp_path, "image", "image.distort=rand_augment", "image.distort.magnitude=5", "image.erase=random_erasing",
        "init=truncated_normal", "model.norm=group", "model.stochastic_depth=0.1", "train.sync_batchnorm=false",
    ).plan  # fmt: skip
    assert plan.section("image.distort.options") == {
        "num": 2, "magnitude": 5, "interpolation": "nearest", "fill": 128,
    }  # fmt: skip
    assert plan["image.erase.options.probability"] == 0.5
    assert plan["init.options.std"] == 0.02
    assert [plan["model.options.norm"], plan["model.options.stochastic_depth"]] == ["group", 0.1]


def test_distorted_pictures_get_worker_processes(tmp_path: Path) -> None:
    assert planned(tmp_path, "image").plan["train.workers"] == 0
    assert planned(tmp_path, "image", "image.distort=trivial_augment").plan["train.workers"] >= 1
    assert planned(tmp_path, "image", "image.distort=trivial_augment", "train.workers=0").plan["train.workers"] == 0


def test_texts_take_an_edit_and_pictures_do_not(tmp_path: Path) -> None:
    assert planned(tmp_path, "text", "text.augment=eda").plan["text.augment.options.untouched"] == 0.2
    with pytest.raises((StoneError, StoneErrors), match="no effect"):
        planned(tmp_path, "image", "text.augment=eda")
    with pytest.raises((StoneError, StoneErrors), match="no effect"):
        planned(tmp_path, "text", "image.distort=rand_augment")


@pytest.mark.parametrize("setting, said", [
    ("image.distort=rand_augmnt", "did you mean 'rand_augment'"), ("init=xavier_norml", "no init is called"),
    ("image.erase={name: random_erasing, fill: grey}", "'noise' or 'mean'"), ("model.norm=instance", "'group'"),
])  # fmt: skip
def test_a_wrong_name_or_option_is_told_before_anything_runs(tmp_path: Path, setting: str, said: str) -> None:
    with pytest.raises((StoneError, StoneErrors)) as raised:
        planned(tmp_path, "image", setting)
    assert said in str(raised.value)
