"""timm's weights in torchvision's networks: equal logits, or a refusal that says why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from torchstone.core import catalog
from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.weights.report import weights_report

timm = pytest.importorskip("timm")

FOLDER = "torchstone.engines.pytorch.models"


def shaken(model: nn.Module) -> nn.Module:
    """Random weights and statistics everywhere, so that no two layers are alike."""
    generator = torch.Generator().manual_seed(1)
    for name, value in model.state_dict().items():
        if name.endswith("running_var"):
            value.uniform_(0.5, 1.5, generator=generator)
        elif value.is_floating_point():
            value.add_(0.02 * torch.randn(value.shape, generator=generator))
    return model.eval()


@pytest.mark.slow
@pytest.mark.parametrize("theirs, ours, prefix", [
    ("resnet18", "resnet18", ""), ("resnet50", "resnet50", "module."), ("efficientnet_b0", "efficientnet_b0", ""),
    ("efficientnet_b0", "efficientnet_b0", "model."), ("convnext_tiny", "convnext_tiny", ""),
    ("convnext_tiny", "convnext_tiny", "module._orig_mod."),
])  # fmt: skip
def test_the_weights_of_timm_give_timms_logits(theirs: str, ours: str, prefix: str, tmp_path: Path) -> None:
    their = shaken(timm.create_model(theirs, num_classes=5))
    save_file({prefix + n: v.contiguous() for n, v in their.state_dict().items()}, tmp_path / "w.safetensors")
    part: Any = catalog.find(FOLDER, ours)
    our = part(Shape(5, channels=3, size=64), weights=str(tmp_path / "w.safetensors")).eval()
    pictures = torch.randn(2, 3, 64, 64)
    with torch.inference_mode():
        expected, found = their(pictures), our(pictures)
    assert torch.allclose(found, expected, rtol=1e-4, atol=1e-4 * float(expected.abs().max()))
    report = weights_report(our)
    assert report is not None
    assert report.fresh == ()
    assert report.unused == ()
    if ours != "resnet18" and not ours.startswith("resnet"):
        assert "timm's names" in str(report)


@pytest.mark.parametrize("theirs, ours", [
    ("mobilenetv3_small_100", "mobilenet_v3_small"), ("mobilenetv3_large_100", "mobilenet_v3_large"),
])  # fmt: skip
def test_timms_mobilenet_is_refused_because_it_normalises_otherwise(theirs: str, ours: str, tmp_path: Path) -> None:
    save_file(timm.create_model(theirs, num_classes=5).state_dict(), tmp_path / "w.safetensors")
    part: Any = catalog.find(FOLDER, ours)
    with pytest.raises(StoneError, match="eps 1e-5"):
        part(Shape(5, channels=3, size=64), weights=str(tmp_path / "w.safetensors"))


def test_another_network_of_timm_is_refused_like_any_other(tmp_path: Path) -> None:
    save_file(timm.create_model("efficientnet_b1", num_classes=5).state_dict(), tmp_path / "w.safetensors")
    part: Any = catalog.find(FOLDER, "resnet18")
    with pytest.raises(StoneError, match="names begin with blocks, bn1, bn2"):
        part(Shape(5, channels=3, size=64), weights=str(tmp_path / "w.safetensors"))
