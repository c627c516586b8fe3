"""What the plan chooses for pictures, and why."""

from __future__ import annotations

from typing import Any

import pytest

from torchstone.core.plan import Choice
from torchstone.parts.choices.image import choose_image

DIGITS = {"num_train": 1_437, "num_classes": 10, "median_height": 8, "median_width": 8, "channels": 1,
          "has_accelerator": False}  # fmt: skip
CLOTHING = {"num_train": 3_068, "num_classes": 10, "median_height": 533, "median_width": 400, "channels": 3,
            "has_accelerator": False}  # fmt: skip


def chosen(facts: dict[str, Any], **changes: Any) -> dict[str, Choice]:
    choices = choose_image(facts | changes)
    assert len({choice.field for choice in choices}) == len(choices)
    return {choice.field: choice for choice in choices}


def values(facts: dict[str, Any], *fields: str, **changes: Any) -> list[Any]:
    plan = chosen(facts, **changes)
    return [plan[field].value for field in fields]


def test_digits_keep_their_pixels_and_are_moved_but_never_mirrored() -> None:
    assert values(DIGITS, "image.size", "image.augment.name", "model.name") == [8, "shift", "small_resnet"]
    assert values(DIGITS, "model.options.width", "train.batch_size", "train.epochs") == [32, 64, 15]


def test_photographs_on_a_cpu_are_made_small() -> None:
    assert values(CLOTHING, "image.size", "image.augment.name", "model.name") == [64, "crop_flip", "small_resnet"]


def test_photographs_on_an_accelerator_get_a_usual_network_at_its_usual_size() -> None:
    assert values(CLOTHING, "image.size", "model.name", has_accelerator=True) == [224, "resnet18"]
    assert values(CLOTHING, "image.size", has_accelerator=True, median_width=150) == [128]


def test_a_named_network_gets_its_own_rate_and_no_options_of_another() -> None:
    plan = chosen(CLOTHING, model="resnet50")
    assert plan["model.name"].value == "resnet50"
    assert plan["optimizer.options.lr"].value == 1e-3
    assert [field for field in plan if field.startswith("model.options")] == ["model.options.weights"]


def test_few_pictures_make_the_plan_say_that_pretrained_weights_would_help() -> None:
    choice = chosen(CLOTHING)["model.name"]
    assert "pretrained weights would help" in choice.reason
    assert "Kornblith" in choice.source
    assert "--set model.name=resnet18 --set model.weights=FILE" in choice.reason
    assert "3,068" in choice.reason
    assert "pretrained" not in chosen(CLOTHING, num_train=50_000)["model.name"].reason


def test_a_usual_network_says_under_its_own_field_that_weights_would_help() -> None:
    choice = chosen(CLOTHING, model="resnet50")["model.options.weights"]
    assert choice.value is None
    assert "pretrained weights would help" in choice.reason
    assert "model.options.weights" not in chosen(CLOTHING, model="resnet50", num_train=50_000)


def test_pictures_of_a_few_pixels_are_not_helped_by_weights_learnt_on_photographs() -> None:
    assert "pretrained" not in chosen(DIGITS)["model.name"].reason


@pytest.mark.parametrize("num", [1, 10, 400, 900, 5_000, 30_000, 1_000_000])
@pytest.mark.parametrize("base", [DIGITS, CLOTHING])
def test_every_choice_has_a_reason_and_every_number_a_source(base: dict[str, Any], num: int) -> None:
    for choice in chosen(base, num_train=num).values():
        assert choice.reason
        assert choice.source or choice.field == "image.size"  # every pixel is kept: nothing was measured
        assert choice.origin in ("derived", "default")
    assert 1 <= chosen(base, num_train=num)["train.batch_size"].value <= num


def test_a_picture_of_one_pixel_still_gives_a_size_that_the_recipe_allows() -> None:
    assert values(DIGITS, "image.size", median_height=1, median_width=1) == [8]
