"""Synthetic rows: made from the training part alone, dealt out in training alone, the same at every start."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hand_made import a_dataset, a_plan
from imblearn.over_sampling import SMOTE

from torchstone.core.dataset import Dataset
from torchstone.core.errors import StoneError, StoneErrors
from torchstone.core.event import Event, Stop
from torchstone.core.plan import Plan
from torchstone.core.recipe import Recipe
from torchstone.core.recipe_file import recipe_for
from torchstone.core.run import Run
from torchstone.engines.pytorch import checkpoint
from torchstone.engines.pytorch.sources.table import TableSource, fit, open_source
from torchstone.engines.pytorch.training_rows import TrainingRows, as_they_are, training_rows
from torchstone.flows.evaluate import evaluate
from torchstone.flows.plan import make_plan
from torchstone.flows.train import resume, train

RNG = np.random.default_rng(4)
SPLIT = (["train"] * 7 + ["validation"] * 2 + ["test"]) * 10
TARGET = np.array([int(i % 9 == 1) for i in range(100)])


def a_rare_table(gaps: bool = False) -> Dataset:
    """100 rows of two numbers and a category, few of class 1."""
    numbers = RNG.normal(size=(2, 100)) + TARGET
    if gaps:
        numbers[0, ::2] = np.nan
        numbers[0, [1, 10, 19]] = np.nan
    inputs = {"x": numbers[0], "y": numbers[1] * 50, "c": ["a" if i % 3 else "b" for i in range(100)]}
    return a_dataset(inputs, {"x": "number", "y": "number", "c": "category"}, TARGET, SPLIT)


def opened(data: Dataset, **fields: Any) -> tuple[TrainingRows, TableSource, dict[str, Any], Plan]:
    plan = a_plan(train__seed=3, **fields)
    encoding = json.loads(json.dumps(fit(data, plan)))
    source = open_source(data, encoding, plan)
    return training_rows(data, encoding, plan, source), source, encoding, plan


def smoted(data: Dataset, **options: Any) -> tuple[TrainingRows, TableSource, dict[str, Any], Plan]:
    given = {f"data__resample__options__{name}": value for name, value in options.items()}
    return opened(data, data__resample__name="smote", **given)


def test_without_a_resampler_training_deals_out_the_training_part_of_the_source_itself() -> None:
    data = a_rare_table()
    training, source, _, _ = opened(data)
    assert training.source is source
    assert training.rows.tolist() == data.rows("train").tolist()


def test_synthetic_rows_stand_behind_the_data_and_come_from_training_rows_alone() -> None:
    data = a_dataset({"x": RNG.normal(size=100), "y": RNG.normal(size=100)}, {"x": "number", "y": "number"},
                     TARGET, SPLIT)  # fmt: skip
    training, source, _, _ = smoted(data)
    mine = data.rows("train")
    assert training.labels is not None
    assert np.bincount(training.labels).tolist() == [int((TARGET[mine] == 0).sum())] * 2
    made = training.rows[training.rows >= 100]
    assert made.tolist() == list(range(100, 100 + len(made)))
    assert training.rows[: len(mine)].tolist() == mine.tolist()
    encoded = source.batch(mine, None).inputs[0].numpy()
    expected, _ = SMOTE(random_state=3).fit_resample(encoded, TARGET[mine])
    np.testing.assert_array_equal(training.source.batch(training.rows, 0).inputs[0].numpy(), expected)


def test_validation_and_test_are_what_they_were() -> None:
    data = a_rare_table(gaps=True)
    training, source, _, _ = smoted(data)
    for split in ("validation", "test"):
        before, after = (s.batch(data.rows(split), None) for s in (source, training.source))  # type: ignore[arg-type]
        assert all(torch.equal(a, b) for a, b in zip(before.inputs, after.inputs, strict=True))
        assert torch.equal(before.target, after.target)


def test_what_other_parts_hold_changes_no_synthetic_row() -> None:
    data = a_rare_table()
    other = a_rare_table()
    judged = np.flatnonzero(data.split != "train")
    inputs = {name: column.copy() for name, column in data.inputs.items()}
    inputs["x"][judged] = other.inputs["x"][judged] + 1e6
    changed = a_dataset(inputs, data.kinds, TARGET, SPLIT)
    one, two = smoted(data)[0], smoted(changed)[0]
    made = np.arange(100, 100 + len(one.made))
    first, second = (t.source.batch(made, 0).inputs for t in (one, two))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_an_empty_cell_is_no_half_empty_one() -> None:
    data = a_rare_table(gaps=True)
    training, source, encoding, _ = smoted(data)
    assert [column["has_missing"] for column in encoding["numbers"]] == [True, False]
    numbers, categories = training.source.batch(np.arange(100, 100 + len(training.made)), 0).inputs
    assert set(numbers[:, 1].tolist()) == {0.0, 1.0}
    stand_in = source.batch(np.array([0]), None).inputs[0][0, 0]
    assert np.isnan(data.inputs["x"][0])
    assert set(numbers[numbers[:, 1] == 1, 0].tolist()) == {float(stand_in)}, "the median stands where a cell is empty"
    assert set(categories.flatten().tolist()) <= {1, 2}


def test_a_synthetic_row_says_that_it_is_one_and_of_which_class() -> None:
    training = smoted(a_rare_table())[0]
    assert training.name(0) == "row 0 (row 0)"
    assert training.name(103) == "synthetic-3 (made from training rows of 'class 1')"


def test_the_run_is_told_what_was_made() -> None:
    training = smoted(a_rare_table(), share=0.5)[0]
    (note,) = training.source.notes
    assert note == "smote, training rows alone: 'class 0' 62 → 62 and 0 synthetic; 'class 1' 8 → 8 and 23 synthetic"


def test_tomek_drops_rows_and_makes_none() -> None:
    training, source, _, _ = opened(a_rare_table(), data__resample__name="tomek")
    assert set(training.rows) < set(a_rare_table().rows("train"))
    assert len(training.source) == len(source)


def test_for_judging_there_is_nothing_to_make() -> None:
    plan = smoted(a_rare_table())[3]
    assert as_they_are(plan).get("data.resample.name") is None
    bare = a_plan(train__seed=3)
    assert as_they_are(bare) is bare


def recipe(folder: Path, *settings: str) -> Recipe:
    """A CSV of 200 rows, one class of them a twentieth, and what is set."""
    rng = np.random.default_rng(1)
    labels = np.array(["rare" if i % 20 == 0 else "often" for i in range(200)])
    rows = rng.normal(size=(200, 4)).round(4) + (labels == "rare")[:, None]
    with (folder / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["a", "b", "c", "d", "y"], *([*r, k] for r, k in zip(rows, labels, strict=True))])
    return recipe_for(str(folder / "t.csv"), overrides=["data.label=y", "train.epochs=3", "train.threads=1", *settings])


def test_a_run_cut_off_and_resumed_ends_with_the_same_weights(tmp_path: Path) -> None:
    made = recipe(tmp_path, "data.resample=smote", "data.resample.neighbors=3", "checkpoint.every_steps=1")
    whole = train(made, project=tmp_path, run_name="whole")

    def stop(event: Event) -> Stop | None:
        return Stop("enough") if event.kind == "step" and event.step == 7 else None

    assert train(made, project=tmp_path, run_name="cut", observers=[stop]).status == "stopped"
    again = resume("cut", project=tmp_path)
    assert whole.status == again.status == "finished"
    runs = [result.run for result in (whole, again)]
    one, two = (checkpoint.read((run.checkpoints / "last").resolve()).tensors["model"] for run in runs if run)
    assert all(torch.equal(value, two[name]) for name, value in one.items())
    assert "139 → " not in (tmp_path / "t.csv").read_text()
    notes = [row["text"] for row in map(json.loads, Run(runs[0].folder).trace.read_text().splitlines())  # type: ignore[union-attr]
             if row["event"] == "note"]  # fmt: skip
    assert any("'rare' 7 → 7 and 126 synthetic" in note for note in notes), notes
    answer = evaluate(runs[0], project=tmp_path, split="test")  # type: ignore[arg-type]
    assert answer["n"] == 30, "evaluation saw another number of rows"


def test_the_plan_says_what_there_will_be_of_each_class_and_weighs_it_no_second_time(tmp_path: Path) -> None:
    planned = make_plan(recipe(tmp_path, "data.resample=smote"), project=tmp_path)
    counts = planned.plan.choices["data.counts"]
    assert counts.value == [133, 133]
    assert "smote" in counts.reason
    assert "133, 7" in counts.reason
    assert planned.plan.get("loss.options.class_weights") is None
    assert planned.plan["sampler.name"] == "shuffled"


def test_pictures_numbers_and_samplers_by_difficulty_do_not_go_with_it(tmp_path: Path) -> None:
    with pytest.raises(StoneErrors, match="only rows of a table with one class each"):
        make_plan(recipe(tmp_path, "data.resample=smote", "data.label=a"), project=tmp_path)
    with pytest.raises(StoneError, match="no resampler is called 'smoot'"):
        make_plan(recipe(tmp_path, "data.resample=smoot"), project=tmp_path)
    with pytest.raises(StoneError, match="use one of the two"):
        train(recipe(tmp_path, "data.resample=tomek", "sampler=self_paced"), project=tmp_path)
