"""`torchstone plan` says what given weights would bring, before anything is trained."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors.torch import save_file

from torchstone.cli import main as door
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.models.small_resnet import small_resnet


@pytest.fixture
def pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    for label in ("dark", "light"):
        (tmp_path / "pictures" / label).mkdir(parents=True)
        for i in range(8):
            pixels = rng.integers(0, 255, (16, 16, 3)).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / "pictures" / label / f"{i}.png")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*more: str) -> int:
    return door.main(["plan", "pictures", "--set", "model=small_resnet", "--set", "model.width=8", *more])


def test_the_plan_names_what_is_taken_and_what_is_fresh(pictures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_file(small_resnet(Shape(5, channels=3, size=16), width=8).state_dict(), pictures / "w.safetensors")
    assert call("--set", "model.weights=w.safetensors") in (0, 1)
    told = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("weights"))
    assert "tensors from the weights" in told
    assert str(pictures / "w.safetensors") in told
    assert ".weight" in told.partition("fresh: ")[2]
    assert call("--set", "model.weights=w.safetensors", "--json") in (0, 1)
    assert "fresh: " in json.loads(capsys.readouterr().out)["weights"]


def test_weights_that_do_not_fit_end_the_plan_with_shapes(pictures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_file(small_resnet(Shape(2, channels=3, size=16), width=12).state_dict(), pictures / "w.safetensors")
    assert call("--set", "model.weights=w.safetensors") == 2
    assert "[12, 3, 3, 3] in the weights, [8, 3, 3, 3] in the model" in capsys.readouterr().err


def test_a_plan_without_weights_says_nothing_of_them(pictures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call() in (0, 1)
    assert not any(line.startswith("weights") for line in capsys.readouterr().out.splitlines())
