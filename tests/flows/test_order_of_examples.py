"""From the recipe to the order of examples: a curriculum by a column, samplers by the run's own losses."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from torchstone.core.errors import StoneError
from torchstone.core.event import Event, Stop
from torchstone.core.recipe import Recipe
from torchstone.core.recipe_file import recipe_for
from torchstone.core.run import Run
from torchstone.engines.pytorch import checkpoint
from torchstone.engines.pytorch.difficulty import difficulty_for
from torchstone.flows.look import look_as
from torchstone.flows.plan import make_plan
from torchstone.flows.train import resume, train
from torchstone.parts.samplers.curriculum import curriculum

GIVEN = ("data.difficulty=hard", "sampler=curriculum", "sampler.by=given", "sampler.start=0.25", "sampler.full_at=0.5")


def recipe(folder: Path, *settings: str, gap: str = "") -> Recipe:
    """A table of 160 rows; `hard` holds 160 … 1."""
    rng = np.random.default_rng(1)
    labels = np.array(["yes" if i % 2 else "no" for i in range(160)])
    rows = rng.normal(size=(160, 3)).round(4) + (labels == "yes")[:, None]
    with (folder / "t.csv").open("w", newline="") as file:
        hard = [gap if gap == "much" or (gap and i == 7) else 160 - i for i in range(160)]
        table = [[*row, h, label] for row, h, label in zip(rows, hard, labels, strict=True)]
        csv.writer(file).writerows([["a", "b", "c", "hard", "y"], *table])
    chosen = ["data.label=y", "train.epochs=4", "train.batch_size=16", "train.threads=1", *settings]
    return recipe_for(str(folder / "t.csv"), overrides=chosen)


def examples_by_epoch(run: Run) -> dict[int, int]:
    """Examples of each epoch, from the trace."""
    rows = [json.loads(line) for line in run.trace.read_text().splitlines()]
    counts: Counter[int] = Counter()
    for row in rows:
        if row["event"] == "step":
            counts[row["epoch"]] += row["examples"]
    return dict(counts)


def weights(run: Run) -> dict[str, torch.Tensor]:
    return checkpoint.read((run.checkpoints / "last").resolve()).tensors["model"]


def test_the_column_of_difficulty_is_no_feature(tmp_path: Path) -> None:
    planned = make_plan(recipe(tmp_path, *GIVEN), project=tmp_path)
    assert list(planned.dataset.inputs) == ["a", "b", "c"]
    assert planned.plan["data.difficulty"] == "hard"
    assert planned.dataset.difficulty is not None
    assert planned.dataset.difficulty.tolist() == list(range(160, 0, -1))
    assert list(look_as(recipe(tmp_path)).dataset.inputs) == ["a", "b", "c", "hard"]


def test_a_table_of_texts_has_a_difficulty_too_and_rows_without_a_label_take_theirs_along(tmp_path: Path) -> None:
    rows = [[f"some words that make sentence number {i}", i / 4, "" if i == 3 else "ab"[i % 2]] for i in range(40)]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["text", "hard", "label"], *rows])
    made = recipe_for(str(tmp_path / "t.csv"), overrides=list(GIVEN))
    planned = make_plan(made, project=tmp_path)
    assert list(planned.dataset.inputs) == ["text"]
    assert planned.dataset.difficulty is not None
    assert planned.dataset.difficulty.tolist() == [i / 4 for i in range(40) if i != 3]
    assert planned.dataset.take(np.array([3])).difficulty.tolist() == [1.0]  # type: ignore[union-attr]


def test_a_given_curriculum_begins_with_the_easiest_rows(tmp_path: Path) -> None:
    dataset = look_as(recipe(tmp_path, *GIVEN)).dataset
    rows = dataset.rows("train")
    sampler = curriculum(by="given", start=0.25)
    hard = difficulty_for(sampler, dataset, rows, epochs=4)
    assert hard is not None
    assert dataset.difficulty is not None
    dealt = rows[sampler.deal(hard.values, 0, 0, 4)]
    assert sorted(dataset.difficulty[dealt]) == sorted(dataset.difficulty[rows])[: round(0.25 * len(rows))]


@pytest.mark.parametrize("settings", [GIVEN, ("sampler=self_paced", "sampler.start=0.25"), (
    "sampler=hard_examples", "data.label=a", "data.features=[b, c]")])  # fmt: skip
def test_a_run_by_difficulty_cut_off_and_resumed_ends_with_the_same_weights(
    tmp_path: Path, settings: tuple[str, ...]
) -> None:
    made = recipe(tmp_path, *settings, "checkpoint.every_steps=1")
    whole = train(made, project=tmp_path, run_name="whole")

    def stop(event: Event) -> Stop | None:
        return Stop("enough") if event.kind == "step" and event.step == 9 else None

    assert train(made, project=tmp_path, run_name="cut", observers=[stop]).status == "stopped"
    again = resume("cut", project=tmp_path)
    assert whole.run is not None
    assert again.run is not None
    assert examples_by_epoch(whole.run) == examples_by_epoch(again.run)
    one, two = weights(whole.run), weights(again.run)
    assert all(torch.equal(value, two[name]) for name, value in one.items())
    if settings is GIVEN:
        num = len(look_as(made).dataset.rows("train"))
        assert examples_by_epoch(whole.run) == {0: round(num / 4), 1: round(num * 0.625), 2: num, 3: num}


@pytest.mark.parametrize(("settings", "says", "fix"), [
    (("sampler=curriculum", "sampler.by=given"), "no column of it is named", "sampler.by to loss"),
    (("data.difficulty=hard",), "no effect: the sampler shuffled", "sampler.by to given"),
    (("data.difficulty=hard", "sampler=self_paced"), "no effect: the sampler self_paced", "remove the field"),
    (("sampler=class_balanced", "data.label=a"), "one class per example", "use shuffled"),
    (("data.difficulty=hord", *GIVEN[1:]), "no column 'hord'", "did you mean 'hard'"),
    (("data.difficulty=y", *GIVEN[1:]), "and an input or the label", "take it out"),
    (("data.features=[a, hard]", *GIVEN), "and an input or the label", "take it out"),
    (("sampler=self_paced", "sampler.start=2"), "start is 2", ""),
])  # fmt: skip
def test_what_does_not_fit_is_told_with_a_way_out(
    tmp_path: Path, settings: tuple[str, ...], says: str, fix: str
) -> None:
    with pytest.raises(StoneError) as caught:
        make_plan(recipe(tmp_path, *settings), project=tmp_path)
    assert says in str(caught.value)
    assert fix in str(caught.value)


def test_a_difficulty_that_is_no_number_or_has_gaps_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoneError, match="holds no numbers"):
        make_plan(recipe(tmp_path, *GIVEN, gap="much"), project=tmp_path)
    gappy: Any = recipe(tmp_path, *GIVEN, "data.split={train: 1.0, validation: 0.0, test: 0.0}", gap=" ")
    with pytest.raises(StoneError, match="nothing says how hard 1 of 160") as caught:
        train(gappy, project=tmp_path)
    assert "t.csv:9" in str(caught.value)
