"""Norms by name: against their formulas, and alone as in company."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from torchstone.core import catalog
from torchstone.core.errors import StoneError
from torchstone.engines.pytorch import norms
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.models.resnet18 import resnet18
from torchstone.engines.pytorch.models.resnet50 import resnet50
from torchstone.engines.pytorch.models.small_resnet import small_resnet
from torchstone.engines.pytorch.models.table_mlp import table_mlp
from torchstone.engines.pytorch.models.table_resnet import table_resnet
from torchstone.engines.pytorch.models.text_transformer import text_transformer
from torchstone.engines.pytorch.norms import norm_of, vector_norm_of
from torchstone.engines.pytorch.norms.group import group

NAMES = ("batch", "group", "layer", "rms", "none")


def maps(num: int = 6, channels: int = 8, side: int = 5) -> Tensor:
    return 4 * torch.randn(num, channels, side, side, generator=torch.Generator().manual_seed(0)) + 2


def centred(values: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Mean 0 and variance 1 over some axes, written out."""
    mean = values.mean(axes, keepdim=True)
    return (values - mean) / ((values - mean).square().mean(axes, keepdim=True) + 1e-5).sqrt()


def test_each_name_is_a_part() -> None:
    assert set(catalog.names(norms.__name__)) == set(NAMES)


def test_norms_of_maps_follow_their_formulas() -> None:
    given = maps()
    expected = {
        "batch": centred(given, (0, 2, 3)),
        "group": centred(given.view(6, 4, 2, 5, 5), (2, 3, 4)).view_as(given),  # 8 channels in groups of two
        "layer": centred(given, (1, 2, 3)),
        "rms": given / (given.square().mean((1, 2, 3), keepdim=True) + 1e-5).sqrt(),
        "none": given,
    }
    for name in NAMES:
        assert torch.allclose(norm_of(name, 8)(given), expected[name], atol=1e-5), name  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "channels, groups", [(64, 32), (128, 32), (96, 32), (24, 12), (32, 16), (8, 4), (7, 1), (3, 1), (1, 1)]
)
def test_groups_are_as_many_as_divide_up_to_32_with_two_channels_each(channels: int, groups: int) -> None:
    norm = group(channels)
    assert isinstance(norm, nn.GroupNorm)
    assert norm.num_groups == groups
    assert norm(maps(2, channels)).shape == (2, channels, 5, 5)
    with pytest.raises(StoneError, match="at least 1"):
        group(channels, groups=0)


def test_rms_keeps_half_precision_finite_and_reaches_the_gain() -> None:
    norm = norm_of("rms", 8)
    large = (maps() * 100).half()
    out = norm(large)
    assert out.dtype == torch.float16
    assert out.isfinite().all()
    out.float().square().sum().backward()
    assert norm.weight.grad.abs().min() > 0  # type: ignore[union-attr]


def test_norms_of_vectors_follow_their_formulas() -> None:
    given = torch.randn(5, 7, 16) * 3 + 1
    assert torch.allclose(vector_norm_of("layer", 16)(given), centred(given, (-1,)), atol=1e-5)
    root = given.square().mean(-1, keepdim=True).sqrt()
    assert torch.allclose(vector_norm_of("rms", 16)(given), given / root, atol=1e-4)
    assert vector_norm_of("none", 16)(given) is given


@pytest.mark.parametrize("name", NAMES)
def test_small_resnet_with_each_norm_starts_as_identities_and_can_learn(name: Any) -> None:
    torch.manual_seed(0)
    model = small_resnet(Shape(3, channels=1, size=8), width=8, norm=name)
    block = model[2]
    given = maps(4, 8, 8).relu()
    assert torch.equal(block(given), given)
    model(torch.randn(4, 1, 8, 8)).square().sum().backward()
    starts = block.second[0].weight if name == "none" else block.second[1].weight
    assert starts.grad.abs().max() > 0


@pytest.mark.parametrize("name", NAMES)
def test_all_but_batchnorm_see_each_picture_alone(name: Any) -> None:
    torch.manual_seed(0)
    model = small_resnet(Shape(3, channels=3, size=16), width=8, norm=name)
    for module in model.modules():  # away from the identities
        if isinstance(module, (nn.Conv2d, nn.GroupNorm, nn.BatchNorm2d)):
            nn.init.normal_(module.weight, std=0.2)
    pictures = torch.randn(4, 3, 16, 16)
    is_alone = torch.allclose(model(pictures)[:2], model(pictures[:2]), atol=1e-5)
    assert is_alone == (name != "batch")


def test_batchnorm_is_still_the_default_with_its_old_names() -> None:
    model = small_resnet(Shape(3, channels=1, size=8), width=8)
    names = list(model.state_dict())
    assert names[:2] == ["0.0.weight", "0.1.weight"]
    assert "2.second.1.running_mean" in names
    assert not any("bias" in name for name, m in model.named_parameters() if m.dim() == 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["group", "layer", "rms"])
def test_torchvisions_resnets_take_another_norm_but_no_weights_with_it(name: Any) -> None:
    for part in (resnet18, resnet50):
        model = part(Shape(3, channels=1, size=32), norm=name).train()
        assert not any(isinstance(module, nn.BatchNorm2d) for module in model.modules())
        pictures = torch.randn(3, 1, 32, 32)
        assert torch.allclose(model(pictures)[:1], model(pictures[:1]), atol=1e-4)
        with pytest.raises(StoneError, match="learnt with BatchNorm"):
            part(Shape(3, channels=1, size=32), norm=name, weights="hub")


@pytest.mark.parametrize("name", ["layer", "rms", "none"])
def test_tables_and_texts_take_a_norm(name: Any) -> None:
    table = Shape(2, numbers=3, categories=(4,))
    for part in (table_mlp, table_resnet):
        model = part(table, width=16, norm=name).eval()
        assert model(torch.randn(5, 3), torch.ones(5, 1, dtype=torch.int64)).isfinite().all()
        assert sum(isinstance(m, nn.LayerNorm) for m in model.modules()) == (0 if name != "layer" else
               sum(isinstance(m, nn.LayerNorm) for m in part(table, width=16).modules()))  # fmt: skip
    text = text_transformer(Shape(2, vocabulary=30, max_length=8), width=16, norm=name).eval()
    assert text(torch.randint(1, 30, (3, 8))).isfinite().all()
    assert any(isinstance(m, nn.RMSNorm) for m in text.modules()) == (name == "rms")
