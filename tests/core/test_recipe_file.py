"""A recipe is read as it was meant, and all its mistakes are told at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchstone.core import marks
from torchstone.core.errors import StoneError
from torchstone.core.recipe import Data, Recipe
from torchstone.core.recipe_check import all_fields
from torchstone.core.recipe_file import read_recipe, recipe_for
from torchstone.core.recipe_text import recipe_text, scalar


def write(folder: Path, text: str) -> Path:
    path = folder / "torchstone.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def message(folder: Path, text: str, *sets: str) -> str:
    with pytest.raises(StoneError) as raised:
        read_recipe(write(folder, text), overrides=sets)
    return str(raised.value).replace(str(folder) + "/", "")


GOOD = "data:\n  path: flowers\n"


def test_the_smallest_recipe_names_only_its_data_which_counts_from_the_recipes_folder(tmp_path: Path) -> None:
    recipe = read_recipe(write(tmp_path, GOOD))
    assert recipe.data.path == str(tmp_path / "flowers")
    assert recipe.model_dump(exclude_unset=True) == {"data": {"path": str(tmp_path / "flowers")}}


def test_an_absolute_path_stays_and_dots_are_resolved(tmp_path: Path) -> None:
    assert read_recipe(write(tmp_path, "data: {path: /srv/x}")).data.path == "/srv/x"
    assert read_recipe(write(tmp_path, "data: {path: ../x}")).data.path == str(tmp_path.parent / "x")


def test_every_mistake_is_told_at_once_with_line_field_found_expected_and_nearest_name(tmp_path: Path) -> None:
    text = GOOD + "  lable: kind\ntrain:\n  epochs: ten\n  precision: fp61\n  deterministic: yes\nmodle: x\n"
    told = message(tmp_path, text)
    assert told.splitlines() == [
        "torchstone.yaml:3 data.lable: unknown field 'lable' (the text 'kind'); expected one of: "
        + ", ".join(Data.model_fields),
        "  fix: did you mean 'label'?",
        "torchstone.yaml:5 train.epochs: found the text 'ten'; expected a whole number, at least 1",
        "torchstone.yaml:6 train.precision: found the text 'fp61'; expected one of fp32, bf16, fp16",
        "  fix: did you mean 'fp16'?",
        "torchstone.yaml:7 train.deterministic: found the text 'yes'; expected true or false",
        "  fix: write true",
        "torchstone.yaml:8 modle: unknown field 'modle' (the text 'x'); expected one of: "
        + ", ".join(Recipe.model_fields),
        "  fix: did you mean 'model'?",
    ]


@pytest.mark.parametrize(
    "name, meant",
    [("epochs", "train.epochs"), ("lr", "optimizer.lr"), ("max_epochs", "train.epochs"),
     ("num_workers", "train.workers"), ("sync_batchnorm", "train.sync_batchnorm"), ("auto_augment", "image.distort"),
     ("batchsize", "train.batch_size"), ("optimiser", "optimizer")],
)  # fmt: skip
def test_a_field_in_the_wrong_place_or_under_another_tools_name_is_recognised(
    tmp_path: Path, name: str, meant: str
) -> None:
    assert f"did you mean '{meant}'?" in message(tmp_path, f"{GOOD}{name}: 1\n")


def test_numbers_are_read_as_people_write_them(tmp_path: Path) -> None:
    text = GOOD + "train: {clip_norm: 1, seed: 7}\noptimizer: {name: adamw, lr: 1e-3, eps: 1.5E-8}\n"
    recipe = read_recipe(write(tmp_path, text))
    assert recipe.optimizer is not None
    assert recipe.optimizer.options() == {"lr": 0.001, "eps": 1.5e-8}
    assert recipe.train.clip_norm == 1.0


def test_words_that_yaml_1_1_turns_into_truth_values_times_and_dates_stay_words(tmp_path: Path) -> None:
    text = GOOD + "  features: [no, on, y, 1:30, 2020-01-01, 01, NaN]\n"
    expected = ["no", "on", "y", "1:30", "2020-01-01", "01", "NaN"]
    assert read_recipe(write(tmp_path, text)).data.features == expected


def test_a_column_called_1_needs_quotes_and_the_error_shows_them(tmp_path: Path) -> None:
    assert 'fix: put quotes around a name that looks like a number: "1"' in message(tmp_path, GOOD + "  label: 1\n")
    assert read_recipe(write(tmp_path, GOOD + '  label: "1"\n')).data.label == "1"


def test_a_quoted_number_and_one_with_separators_are_explained(tmp_path: Path) -> None:
    told = message(tmp_path, GOOD + 'train:\n  epochs: "5"\n  seed: 1_000\n')
    assert "fix: write 5 without quotes" in told
    assert "fix: write 1000 without quotes" in told


def test_a_part_may_be_a_word_or_a_section(tmp_path: Path) -> None:
    recipe = read_recipe(write(tmp_path, GOOD + "loss: focal\noptimizer: {name: sgd, momentum: 0.9}\n"))
    assert recipe.loss is not None
    assert recipe.optimizer is not None
    assert (recipe.loss.name, recipe.loss.options()) == ("focal", {})
    assert (recipe.optimizer.name, recipe.optimizer.options()) == ("sgd", {"momentum": 0.9})


def test_an_empty_section_is_one_whose_fields_are_all_planned(tmp_path: Path) -> None:
    assert read_recipe(write(tmp_path, GOOD + "train:\n  # epochs: 5\n")).train == recipe_for("x").train


def test_a_byte_order_mark_is_no_part_of_the_first_field(tmp_path: Path) -> None:
    assert read_recipe(write(tmp_path, "\ufeff" + GOOD)).data.path.endswith("flowers")


def test_shares_that_do_not_add_up_are_named_with_their_sum(tmp_path: Path) -> None:
    told = message(tmp_path, GOOD + "  split: {train: 0.5, validation: 0.1, test: 0.1}\n")
    assert told.startswith("torchstone.yaml:3 data.split: train, validation and test add up to 0.7")


def test_set_lays_over_the_file_and_the_last_one_wins(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD + "train: {epochs: 3}\noptimizer: adamw\n")
    recipe = read_recipe(path, overrides=["train.epochs=4", "train.epochs=5", "optimizer.lr=1e-2", "model=tiny"])
    assert recipe.train.epochs == 5
    assert recipe.optimizer is not None
    assert recipe.model is not None
    assert (recipe.optimizer.name, recipe.optimizer.options(), recipe.model.name) == ("adamw", {"lr": 0.01}, "tiny")


def test_options_without_a_name_are_for_the_part_that_the_plan_chooses(tmp_path: Path) -> None:
    recipe = read_recipe(write(tmp_path, GOOD + "optimizer:\n"), overrides=["optimizer.lr=0.1"])
    assert recipe.optimizer is not None
    assert (recipe.optimizer.name, recipe.optimizer.options()) == (None, {"lr": 0.1})


def test_set_of_null_gives_a_field_back_to_the_plan(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD + "train: {epochs: 3}\n")
    assert read_recipe(path, overrides=["train.epochs=null"]).train.epochs is None


@pytest.mark.parametrize(
    "text, told",
    [
        ("train.epochs=ten", "--set train.epochs=ten: found the text 'ten'; expected a whole number, at least 1"),
        ("train.epoch=5", "fix: did you mean 'epochs'?"),
        ("train.epochs", "--set train.epochs: expected field=value"),
        ("=5", "--set =5: expected field=value"),
        ("train..epochs=5", "expected field=value"),
        ("task.x=5", "task is the text 'a', which has no fields"),
        ("data.features=[a", "--set data.features=[a: not YAML"),
    ],
)
def test_a_mistake_in_set_names_the_word_that_was_typed(tmp_path: Path, text: str, told: str) -> None:
    assert told in message(tmp_path, GOOD + "task: a\n", text)


def test_a_section_in_set_is_told_with_the_field_in_it(tmp_path: Path) -> None:
    setting = "train.stop_on={metric: loss, patience: 0}"
    told = message(tmp_path, GOOD, setting)
    assert f"--set {setting} train.stop_on.patience: found 0; expected a whole number, at least 1" in told
    recipe = read_recipe(write(tmp_path, GOOD), overrides=["optimizer={name: sgd, lr: 0.1}"])
    assert recipe.where("optimizer.lr") == "--set optimizer={name: sgd, lr: 0.1} optimizer.lr"


@pytest.mark.parametrize("field", ["train.l1", "train.clip_norm", "checkpoint.every_minutes", "image.cache_gib"])
def test_a_number_without_end_is_no_setting(tmp_path: Path, field: str) -> None:
    assert f"--set {field}=1e400: found inf; expected a number, at least 0, and finite" in message(
        tmp_path, GOOD, f"{field}=1e400"
    )


def test_mistakes_of_file_and_set_come_together(tmp_path: Path) -> None:
    told = message(tmp_path, GOOD + "tusk: a\n", "train.epochs=0", "bad")
    assert "torchstone.yaml:3 tusk" in told
    assert "--set train.epochs=0" in told
    assert "--set bad" in told


def test_a_recipe_knows_where_its_fields_were_written(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD + "optimizer:\n  name: adamw\n  lr: 0.1\n")
    recipe = read_recipe(path, overrides=["train.seed=3"])
    assert recipe.where("optimizer.lr") == f"{path}:5 optimizer.lr"
    assert recipe.where("train.seed") == "--set train.seed=3"
    assert recipe.where("train.epochs") == "train.epochs"


def test_a_bare_path_makes_a_recipe_with_an_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert recipe_for("flowers", overrides=["train.epochs=2"]).data.path == str(tmp_path / "flowers")


def test_the_list_of_fields_is_that_of_the_model() -> None:
    fields = list(all_fields(Recipe.model_json_schema()))
    assert {"data.path", "train.epochs", "image.size", "checkpoint.keep", "optimizer"} <= set(fields)
    assert "optimizer.name" not in fields


text_values = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), text_values)


@given(st.one_of(values, st.lists(values, max_size=4), st.dictionaries(text_values, values, max_size=3)))
def test_any_value_written_in_one_line_is_read_back_the_same(value: object) -> None:
    again = marks.parse(f"field: {scalar(value)}", "x").value["field"]
    assert again == value
    assert type(again) is type(value)


def test_a_written_recipe_reads_back_and_leaves_planned_fields_as_comments(tmp_path: Path) -> None:
    recipe = {"version": 1, "data": {"path": "flo wers", "label": "no"}, "optimizer": "adamw"}
    planned = {"train.epochs": 20, "image.size": 64, "data.path": "ignored, as it is fixed"}
    comments = {"train.epochs": "starting point, tune on your data", "data.path": "counts from here"}
    text = recipe_text(recipe, comments, planned=planned)
    assert "  # starting point, tune on your data\n  # epochs: 20\n" in text
    assert "  # counts from here\n  path: flo wers\n" in text
    again = read_recipe(write(tmp_path, text))
    assert (again.data.label, again.train.epochs, again.image.size) == ("no", None, None)


def test_a_planned_field_becomes_fixed_when_its_mark_is_removed(tmp_path: Path) -> None:
    planned = {"train.epochs": 20, "optimizer.lr": 0.1, "optimizer.name": "a"}
    text = recipe_text({"data": {"path": "x"}}, {}, planned=planned)
    recipe = read_recipe(write(tmp_path, text.replace("# ", "")))
    assert recipe.train.epochs == 20
    assert recipe.optimizer is not None
    assert recipe.optimizer.options() == {"lr": 0.1}
