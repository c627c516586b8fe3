"""Given weights that are frozen stay as they were given: filters, norms, and the norms' statistics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import nn

from torchstone.core.recipe_file import recipe_for
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.freezing import freeze, to_train_mode
from torchstone.engines.pytorch.models.mobilenet_v3_small import mobilenet_v3_small
from torchstone.engines.pytorch.models.resnet18 import resnet18
from torchstone.flows.train import train

PARTS = {"resnet18": (resnet18, "^(?!fc)"), "mobilenet_v3_small": (mobilenet_v3_small, "^features")}


def shaken(model: nn.Module) -> dict[str, torch.Tensor]:
    """The model's state with statistics that no data has."""
    generator = torch.Generator().manual_seed(0)
    for name, value in model.state_dict().items():
        if "running" in name:
            value.uniform_(0.5, 2.0, generator=generator)
    return {name: value.clone() for name, value in model.state_dict().items()}


@pytest.mark.parametrize("name", list(PARTS))
def test_train_mode_moves_no_statistics_of_a_frozen_backbone(name: str, tmp_path: Path) -> None:
    part: Any
    part, pattern = PARTS[name]
    save_file(shaken(part(Shape(9, channels=3, size=32))), tmp_path / "w.safetensors")
    model = part(Shape(3, channels=3, size=32), weights=str(tmp_path / "w.safetensors"))
    given = load_file(tmp_path / "w.safetensors")
    frozen = freeze(model, [pattern])
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.1, weight_decay=0.1)
    for _ in range(2):
        to_train_mode(model, frozen)
        nn.functional.cross_entropy(model(torch.randn(4, 3, 32, 32)), torch.tensor([0, 1, 2, 0])).backward()
        optimizer.step()
        optimizer.zero_grad()
    state = model.state_dict()
    kept = [n for n in state if n.startswith("features")] if name != "resnet18" else [n for n in state if n[:2] != "fc"]
    assert len(kept) > 50
    assert all(torch.equal(state[n], given[n]) for n in kept)
    norms = [m for m in model.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    assert norms
    assert not any(norm.training for norm in norms)


def test_a_partly_frozen_backbone_moves_only_the_statistics_behind(tmp_path: Path) -> None:
    model = resnet18(Shape(3, channels=3, size=32))
    before = shaken(model)
    to_train_mode(model, freeze(model, ["^conv1", "^bn1", "^layer[123]"]))
    model(torch.randn(4, 3, 32, 32))
    moved = {n.partition(".")[0] for n, v in model.state_dict().items() if not torch.equal(v, before[n])}
    assert moved == {"layer4"}


@pytest.mark.slow
def test_a_run_keeps_a_frozen_backbone_bit_for_bit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for label, add in (("dark", 0), ("light", 130)):
        (tmp_path / "pictures" / label).mkdir(parents=True)
        for i in range(20):
            pixels = (rng.integers(0, 90, (32, 32, 3)) + add).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / "pictures" / label / f"{i}.png")
    save_file(shaken(resnet18(Shape(9, channels=3, size=32))), tmp_path / "w.safetensors")
    recipe = recipe_for(str(tmp_path / "pictures"), overrides=[
        "model=resnet18", f"model.weights={tmp_path / 'w.safetensors'}", "train.freeze=['^(?!fc)']", "train.epochs=2",
        "train.precision=fp32", "averaging=ema",
    ])  # fmt: skip
    run = train(recipe, project=tmp_path, run_name="r").run
    assert run is not None
    given = load_file(tmp_path / "w.safetensors")
    for file in ("model", "averaged"):
        state = load_file(run.checkpoints / "last" / f"{file}.safetensors")
        assert all(torch.equal(state[name], given[name]) for name in given if not name.startswith("fc")), file
    assert not torch.equal(state["fc.bias"], torch.zeros(2))
