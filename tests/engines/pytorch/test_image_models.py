"""Networks for pictures: shapes, first losses, and what is taken from given weights."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from torchstone.core import catalog
from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.models.resnet18 import resnet18
from torchstone.engines.pytorch.models.small_resnet import small_resnet
from torchstone.engines.pytorch.weights.report import weights_report

FOLDER = "torchstone.engines.pytorch.models"


def count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("size", [8, 9, 16, 28, 32, 48, 64])
@pytest.mark.parametrize("channels", [1, 3])
def test_small_resnet_takes_any_small_size(size: int, channels: int) -> None:
    model = small_resnet(Shape(num_outputs=5, channels=channels, size=size), width=8)
    assert model(torch.randn(2, channels, size, size)).shape == (2, 5)


def test_small_resnet_has_the_parameters_its_docstring_says() -> None:
    assert count(small_resnet(Shape(10, channels=1, size=8), width=32)) == pytest.approx(77_000, rel=0.01)
    assert count(small_resnet(Shape(10, channels=3, size=64), width=24)) == pytest.approx(694_000, rel=0.01)


def test_small_resnet_starts_near_a_uniform_guess() -> None:
    torch.manual_seed(0)
    model = small_resnet(Shape(10, channels=3, size=32))
    loss = nn.functional.cross_entropy(model(torch.randn(64, 3, 32, 32)), torch.arange(64) % 10)
    assert loss.item() == pytest.approx(math.log(10), abs=0.5)


def test_small_resnet_reads_channels_last_batches_alike() -> None:
    torch.manual_seed(0)
    model = small_resnet(Shape(4, channels=3, size=32), width=8).eval()
    pictures = torch.randn(2, 3, 32, 32)
    assert torch.allclose(model(pictures), model(pictures.to(memory_format=torch.channels_last)), atol=1e-5)


def test_small_resnet_refuses_impossible_options() -> None:
    with pytest.raises(StoneError, match="depth 0"):
        small_resnet(Shape(2, channels=1, size=8), depth=0)


def test_small_resnet_does_without_torchvision() -> None:
    import subprocess
    import sys

    program = (
        "import sys, torchstone.engines.pytorch.models.small_resnet, torchstone.engines.pytorch.sources.image; "
        "sys.exit('torchvision' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", [
    "resnet18", "resnet50", "efficientnet_b0", "mobilenet_v3_small", "mobilenet_v3_large", "convnext_tiny",
])  # fmt: skip
def test_torchvisions_networks_take_grey_pictures_and_any_number_of_classes(name: str, tmp_path: Path) -> None:
    part: Any = catalog.find(FOLDER, name)
    model = part(Shape(7, channels=1, size=64)).eval()
    assert model(torch.randn(1, 1, 64, 64)).shape == (1, 7)
    assert weights_report(model) is None
    colour = part(Shape(3, channels=3, size=64))
    save_file(colour.state_dict(), tmp_path / "w.safetensors")
    report = weights_report(part(Shape(7, channels=1, size=64), weights=str(tmp_path / "w.safetensors")))
    assert report is not None
    assert len(report.adapted) == 1
    assert len(report.fresh) == 2
    assert len(report.matched) == len(colour.state_dict()) - 3


def test_given_weights_give_the_given_network(tmp_path: Path) -> None:
    torch.manual_seed(0)
    first = resnet18(Shape(4, channels=3, size=64)).eval()
    save_file(first.state_dict(), tmp_path / "w.safetensors")
    torch.save({"state_dict": {f"module.{k}": v for k, v in first.state_dict().items()}}, tmp_path / "w.pth")
    pictures = torch.randn(2, 3, 64, 64)
    for name in ("w.safetensors", "w.pth"):
        second = resnet18(Shape(4, channels=3, size=64), weights=str(tmp_path / name)).eval()
        assert torch.equal(first(pictures), second(pictures))
        report = weights_report(second)
        assert report is not None
        assert report.fresh == ()


def test_a_grey_picture_gives_what_its_colour_copy_gives(tmp_path: Path) -> None:
    torch.manual_seed(0)
    colour = resnet18(Shape(4, channels=3, size=64)).eval()
    save_file(colour.state_dict(), tmp_path / "w.safetensors")
    grey = resnet18(Shape(4, channels=1, size=64), weights=str(tmp_path / "w.safetensors")).eval()
    pictures = torch.randn(2, 1, 64, 64)
    assert torch.allclose(grey(pictures), colour(pictures.repeat(1, 3, 1, 1)), atol=1e-4)


def test_the_small_stem_keeps_the_side_and_says_that_its_first_layer_is_fresh(tmp_path: Path) -> None:
    save_file(resnet18(Shape(1000, channels=3, size=64)).state_dict(), tmp_path / "w.safetensors")
    model = resnet18(Shape(5, channels=3, size=16), weights=str(tmp_path / "w.safetensors"), stem="small")
    first = next(module for module in model.modules() if isinstance(module, nn.Conv2d))
    assert first(torch.randn(1, 3, 16, 16)).shape[-1] == 16
    report = weights_report(model)
    assert report is not None
    assert report.fresh == ("conv1.weight", "fc.weight", "fc.bias")
    assert str(report).startswith("119 of 122 tensors from the weights")


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    save_file({"layer.weight": torch.zeros(3)}, tmp_path / "w.safetensors")
    with pytest.raises(StoneError, match="0 of 122 tensors fit"):
        resnet18(Shape(5, channels=3, size=64), weights=str(tmp_path / "w.safetensors"))


class Evil:
    """Would create a file if it were unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["missing.safetensors", "broken.safetensors", "evil.pth", "notes.txt", "list.pth"])
def test_unusable_weights_are_refused_and_run_no_code(tmp_path: Path, name: str) -> None:
    (tmp_path / "broken.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0 nothing")
    (tmp_path / "notes.txt").write_text("notes")
    torch.save(Evil(tmp_path / "harm"), tmp_path / "evil.pth")
    torch.save([1, 2], tmp_path / "list.pth")
    with pytest.raises(StoneError) as caught:
        resnet18(Shape(5, channels=3, size=64), weights=str(tmp_path / name))
    assert name in str(caught.value)
    assert not (tmp_path / "harm").exists()
