"""`model.weights` in a recipe: for every model part, told, recorded, and not needed twice."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from torchstone.core.errors import StoneError
from torchstone.core.event import Event
from torchstone.core.recipe_file import read_recipe, recipe_for
from torchstone.core.run import Run
from torchstone.flows.evaluate import evaluate
from torchstone.flows.plan import make_plan
from torchstone.flows.train import TrainResult, resume, train
from torchstone.flows.transfer import weights_note

WORDS = {"money": ["cash", "coins", "bank"], "food": ["bread", "soup", "apple"], "sport": ["ball", "goal", "race"]}


def a_table(folder: Path, seed: int, columns: str = "abc") -> Path:
    rng = np.random.default_rng(seed)
    path = folder / f"table{seed}{columns}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = [[*rng.normal(size=len(columns)), rng.choice(["red", "blue"]), f"k{i % 3}"] for i in range(90)]
        csv.writer(file).writerows([[*columns, "colour", "label"], *rows])
    return path


def some_texts(folder: Path, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    path = folder / f"texts{seed}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = [[" ".join(["the", *rng.choice(WORDS[label], 4)]), label] for label in WORDS for _ in range(30)]
        csv.writer(file).writerow(["text", "label"])
        csv.writer(file).writerows([f"{text} number {i}", label] for i, (text, label) in enumerate(rows))
    return path


def some_pictures(folder: Path, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    for label in ("dark", "light"):
        (folder / f"pictures{seed}" / label).mkdir(parents=True)
        for i in range(20):
            shade = rng.integers(0, 90, (16, 16, 3)) + (130 if label == "light" else 0)
            Image.fromarray(shade.astype(np.uint8)).save(folder / f"pictures{seed}" / label / f"{i}.png")
    return folder / f"pictures{seed}"


def trained(data: Path, name: str, *settings: str) -> tuple[TrainResult, list[str]]:
    notes: list[str] = []

    def watch(event: Event) -> None:
        if event.kind == "note":
            notes.append(str(event.values["text"]))

    recipe = recipe_for(str(data), overrides=["train.epochs=1", *settings])
    return train(recipe, project=data.parent, run_name=name, observers=[watch]), notes


def folder_of(result: TrainResult) -> Path:
    assert result.run is not None
    return result.run.folder


@pytest.mark.parametrize("make, model", [
    (a_table, "table_mlp"), (some_pictures, "small_resnet"),
    pytest.param(some_texts, "text_cnn", marks=pytest.mark.slow),
])  # fmt: skip
def test_a_run_starts_from_another_run(make: Any, model: str, tmp_path: Path) -> None:
    first, _ = trained(make(tmp_path, 1), "first", f"model={model}")
    source = folder_of(first)
    second, notes = trained(make(tmp_path, 2), "second", f"model={model}", f"model.weights={source}")
    told = [note for note in notes if "tensors from the weights" in note]
    report = json.loads((folder_of(second) / "weights.json").read_text())
    assert len(told) == 1
    assert report["fresh"] == []
    assert report["source"].startswith(str(source))
    state = load_file(source / "checkpoints" / "best" / "model.safetensors")
    assert sorted(report["matched"]) == sorted(state)


def test_a_last_layer_that_was_learnt_for_other_classes_is_told(tmp_path: Path) -> None:
    first, _ = trained(some_pictures(tmp_path, 1), "first")
    other = some_pictures(tmp_path, 2)
    (other / "light").rename(other / "pale")
    said = "the last layer was learnt for dark, light; its outputs now stand for dark, pale"
    second, notes = trained(other, "second", f"model.weights={folder_of(first)}")
    assert json.loads((folder_of(second) / "weights.json").read_text())["remark"] == said
    assert any(note.endswith(said) for note in notes)
    same, notes = trained(some_pictures(tmp_path, 3), "same", f"model.weights={folder_of(first)}")
    assert "remark" not in json.loads((folder_of(same) / "weights.json").read_text())


def test_a_run_with_weights_begins_where_they_ended(tmp_path: Path) -> None:
    first, _ = trained(a_table(tmp_path, 1), "first", "optimizer.lr=0.0001")
    source = folder_of(first)
    second, _ = trained(a_table(tmp_path, 1), "second", f"model.weights={source}", "optimizer.lr=1e-12")
    one, two = (load_file(f / "checkpoints" / "best" / "model.safetensors") for f in (source, folder_of(second)))
    assert all(torch.allclose(one[name], two[name], atol=1e-6) for name in one)


def test_evaluating_and_resuming_need_the_weights_no_more(tmp_path: Path) -> None:
    first, _ = trained(some_pictures(tmp_path, 1), "first")
    weights = tmp_path / "w.safetensors"
    shutil.copy(folder_of(first) / "checkpoints" / "best" / "model.safetensors", weights)
    second, _ = trained(some_pictures(tmp_path, 2), "second", f"model.weights={weights}")
    weights.unlink()
    assert second.run is not None
    assert evaluate(second.run, project=tmp_path)["n"] > 0
    again = resume("second", project=tmp_path, overrides=["train.epochs=2"])
    assert again.status == "finished"
    assert json.loads((folder_of(second) / "weights.json").read_text())["source"] == str(weights)


@pytest.mark.slow
def test_words_of_an_unknown_tokenizer_start_afresh_and_those_of_a_run_do_not(tmp_path: Path) -> None:
    first, _ = trained(some_texts(tmp_path, 1), "first")
    source = folder_of(first)
    plain = tmp_path / "w.safetensors"
    shutil.copy(source / "checkpoints" / "best" / "model.safetensors", plain)
    one, _ = trained(some_texts(tmp_path, 2), "plain", f"model.weights={plain}")
    two, _ = trained(some_texts(tmp_path, 3), "lent", f"model.weights={source / 'checkpoints' / 'best'}")
    assert json.loads((folder_of(one) / "weights.json").read_text())["fresh"] == ["words.embedding.weight"]
    assert json.loads((folder_of(two) / "weights.json").read_text())["fresh"] == []
    tokenizers = [json.loads((f / "encoding.json").read_text())["tokenizer"] for f in (source, folder_of(two))]
    assert tokenizers[0] == tokenizers[1]


def test_a_table_needs_the_columns_of_its_weights(tmp_path: Path) -> None:
    first, _ = trained(a_table(tmp_path, 1), "first")
    plain = folder_of(first) / "checkpoints" / "best" / "model.safetensors"
    with pytest.raises(StoneError, match="without the columns"):
        trained(a_table(tmp_path, 2), "second", f"model.weights={plain}")
    with pytest.raises(StoneError, match="learnt on the numbers a, b, c; here there are a, b, d"):
        trained(a_table(tmp_path, 2, "abd"), "third", f"model.weights={folder_of(first)}")


def test_too_little_is_a_mistake_and_leaves_no_run(tmp_path: Path) -> None:
    first, _ = trained(some_pictures(tmp_path, 1), "first")
    texts = some_texts(tmp_path, 2)
    with pytest.raises(StoneError, match="tensors fit"):
        trained(texts, "second", f"model.weights={folder_of(first)}")
    assert not Run(tmp_path / ".torchstone" / "runs" / "second").plan.is_file()


def test_a_plan_says_what_would_be_taken_over(tmp_path: Path) -> None:
    first, _ = trained(some_pictures(tmp_path, 1), "first")
    recipe = recipe_for(str(some_pictures(tmp_path, 2)), overrides=[f"model.weights={folder_of(first)}"])
    note = weights_note(make_plan(recipe, project=tmp_path), project=tmp_path)
    assert note is not None
    assert "weights of a torchstone checkpoint" in note
    assert weights_note(make_plan(recipe_for(str(tmp_path / "pictures1")), project=tmp_path), project=tmp_path) is None


def test_a_relative_path_counts_from_the_recipe(tmp_path: Path) -> None:
    text = "data: {path: d.csv}\nmodel: {name: resnet18, weights: w/r.pth}\n"
    (tmp_path / "torchstone.yaml").write_text(text)
    model = read_recipe(tmp_path / "torchstone.yaml").model
    assert model is not None
    assert model.options() == {"weights": str(tmp_path / "w" / "r.pth")}
    (tmp_path / "torchstone.yaml").write_text(text.replace("w/r.pth", "hub"))
    assert read_recipe(tmp_path / "torchstone.yaml").model.options() == {"weights": "hub"}  # type: ignore[union-attr]


def test_weights_are_a_text_and_every_model_has_them(tmp_path: Path) -> None:
    for mistake, said in (("model.weights=3", "found 3; input should be"), ("model.deep=3", "options: weights, width")):
        recipe = recipe_for(str(a_table(tmp_path, 1)), overrides=["model=table_mlp", mistake])
        with pytest.raises(StoneError, match=said):
            make_plan(recipe, project=tmp_path)
