"""Runs on a transformers folder: with adapters or whole, judged without it, merged weights go on."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

sys.path.insert(0, __file__.rpartition("/")[0])
from small_folder import made
from test_weights_in_a_run import some_texts

from torchstone.core.event import Event
from torchstone.core.recipe_file import recipe_for
from torchstone.flows.evaluate import evaluate
from torchstone.flows.plan import make_plan
from torchstone.flows.train import resume, setting_of, train

pytest.importorskip("transformers")
pytest.importorskip("peft")
pytestmark = pytest.mark.slow


def trained(tmp_path: Path, name: str, *settings: str) -> tuple[Path, list[str]]:
    notes: list[str] = []

    def watch(event: Event) -> None:
        if event.kind == "note":
            notes.append(str(event.values["text"]))

    recipe = recipe_for(str(tmp_path / "texts1.csv"), overrides=settings_of(tmp_path, *settings))
    run = train(recipe, project=tmp_path, run_name=name, observers=[watch]).run
    assert run is not None
    return run.folder, notes


def settings_of(tmp_path: Path, *settings: str) -> list[str]:
    fixed = ["model=text_pretrained", f"model.folder={tmp_path / 'folder'}", "train.epochs=3", "train.precision=fp32"]
    return [*fixed, "optimizer.lr=0.003", *settings]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    made(tmp_path / "folder", vocab_size=20)
    some_texts(tmp_path, 1)
    return tmp_path


def predictions(folder: Path) -> Any:
    with np.load(folder / "predictions" / "validation.npz") as arrays:
        return arrays["scores"]


def test_a_run_learns_and_is_judged_after_the_folder_has_gone(place: Path) -> None:
    folder, notes = trained(place, "whole")
    assert any("fresh: head.weight, head.bias" in note for note in notes)
    assert json.loads((folder / "weights.json").read_text())["fresh"] == ["head.weight", "head.bias"]
    shutil.rmtree(place / "folder")
    run = make_run(folder)
    before = predictions(folder)
    assert evaluate(run, project=place, split="validation")["metrics"]["accuracy"]["value"] > 0.6  # chance: a third
    assert np.array_equal(predictions(folder), before)


def make_run(folder: Path) -> Any:
    from torchstone.core.run import Run

    return Run(folder)


def test_merged_and_adapted_weights_give_the_same_scores(place: Path) -> None:
    folder, notes = trained(place, "adapted", "adapter=lora", "adapter.rank=4")
    assert any(note.startswith("trains ") and "in the adapters of 4 layers" in note for note in notes)
    state = load_file(folder / "merged" / "model.safetensors")
    assert not any("lora" in name or "base_layer" in name for name in state)
    recipe = recipe_for(str(place / "texts1.csv"), overrides=settings_of(place, f"model.weights={folder}"))
    planned = make_plan(recipe, project=place)
    from torchstone.engines.pytorch import assemble, judgement
    from torchstone.engines.pytorch.scoring import score

    setting = setting_of(planned, place)
    setting = replace(setting, encoding=assemble.fit_encoding(setting))
    job = assemble.assemble(setting, assemble.start(planned.plan))
    assert job.validation is not None
    merged = score(job, job.validation)
    assert np.allclose(merged.scores, predictions(folder), atol=1e-5)
    assert judgement.judged_checkpoint(make_run(folder)) == "best"
    assert evaluate(make_run(folder), project=place, split="validation")["n"] == len(merged.scores)


def test_a_resumed_run_with_adapters_ends_with_the_same_weights(place: Path) -> None:
    settings = ("adapter=lora", "adapter.rank=4", "adapter.dropout=0.2", "schedule=constant")
    whole, _ = trained(place, "whole", *settings)
    cut, _ = trained(place, "cut", *settings, "train.epochs=1")
    (place / "folder" / "model.safetensors").unlink()  # the weights are in the checkpoint by now
    resume("cut", project=place, overrides=["train.epochs=3"])
    one, two = (load_file(folder / "checkpoints" / "last" / "model.safetensors") for folder in (whole, cut))
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_only_adapters_and_head_moved(place: Path) -> None:
    folder, _ = trained(place, "adapted", "adapter=lora")
    last = load_file(folder / "checkpoints" / "last" / "model.safetensors")
    given = load_file(place / "folder" / "model.safetensors")
    for name, value in given.items():
        if name.startswith("pooler"):
            continue
        kept = last.get(f"encoder.{name}", last.get(f"encoder.{name.replace('.weight', '.base_layer.weight')}"))
        kept = last[f"encoder.{name.replace('.bias', '.base_layer.bias')}"] if kept is None else kept
        assert torch.equal(kept, value), name
