"""First weights: those of torch.nn.init on the same generator, and never over weights that were given."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hand_made import a_plan
from safetensors.torch import save_file
from torch import Tensor, nn

from torchstone.core import catalog
from torchstone.core.errors import StoneError
from torchstone.engines.pytorch import inits
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.inits import initialise
from torchstone.engines.pytorch.models.resnet18 import resnet18
from torchstone.engines.pytorch.models.small_resnet import small_resnet
from torchstone.engines.pytorch.models.text_transformer import text_transformer

init = nn.init
REFERENCES: dict[str, tuple[dict[str, Any], Callable[[Tensor, torch.Generator], object]]] = {
    "kaiming_normal": ({}, lambda w, g: init.kaiming_normal_(w, nonlinearity="relu", generator=g)),
    "kaiming_uniform": (
        {"mode": "fan_out", "slope": 0.1}, lambda w, g: init.kaiming_uniform_(w, a=0.1, mode="fan_out", generator=g),
    ),
    "xavier_normal": ({"gain": 2.0}, lambda w, g: init.xavier_normal_(w, gain=2.0, generator=g)),
    "xavier_uniform": ({}, lambda w, g: init.xavier_uniform_(w, generator=g)),
    "orthogonal": ({"gain": math.sqrt(2)}, lambda w, g: init.orthogonal_(w, gain=math.sqrt(2), generator=g)),
    "truncated_normal": ({}, lambda w, g: init.trunc_normal_(w, std=0.02, a=-0.04, b=0.04, generator=g)),
}  # fmt: skip


def a_net() -> nn.Module:
    return nn.Sequential(
        nn.Embedding(5, 6), nn.Linear(6, 8), nn.LayerNorm(8),
        nn.Sequential(nn.Conv2d(8, 4, 3), nn.Conv1d(4, 2, 1, bias=False)),
    )


def planned(name: str | None, seed: int = 3, **options: Any) -> Any:
    return a_plan(train__seed=seed, model__name="a_net", init__name=name,
                  **{f"init__options__{key}": value for key, value in options.items()})  # fmt: skip


def values(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in model.named_parameters()}


def test_every_scheme_has_a_reference() -> None:
    assert set(catalog.names(inits.__name__)) == {*REFERENCES, "zero_residual"}


@pytest.mark.parametrize("name", REFERENCES)
def test_weights_are_those_of_torch_on_the_same_generator_and_biases_are_zero(name: str) -> None:
    options, reference = REFERENCES[name]
    model = a_net()
    before, generator = values(model), torch.Generator().manual_seed(3)
    done = initialise(model, planned(name, **options))
    assert done == ["1.weight", "1.bias", "3.0.weight", "3.0.bias", "3.1.weight"]
    for key, value in values(model).items():
        expected = before[key].clone()
        if key in done:
            expected.zero_() if key.endswith("bias") else reference(expected, generator)
        assert torch.equal(value, expected), key


@pytest.mark.parametrize("name", REFERENCES)
def test_the_seed_decides_and_the_global_generator_is_left_alone(name: str) -> None:
    one, same, other = a_net(), a_net(), a_net()
    state = torch.get_rng_state()
    for model, seed in ((one, 1), (same, 1), (other, 2)):
        initialise(model, planned(name, seed))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(one[1].weight, same[1].weight)  # type: ignore[index]
    assert not torch.equal(one[1].weight, other[1].weight)  # type: ignore[index]


def test_without_a_scheme_nothing_changes() -> None:
    model = a_net()
    before = values(model)
    assert initialise(model, a_plan(train__seed=1)) == []
    assert all(torch.equal(value, before[name]) for name, value in values(model).items())


def test_embeddings_and_norms_of_a_transformer_stay() -> None:
    model = text_transformer(Shape(2, vocabulary=20, max_length=8), width=16, depth=1)
    done = initialise(model, planned("xavier_uniform"))
    assert not any("norm" in name or "embedding" in name for name in done)
    assert {"blocks.0.qkv.weight", "head.weight"} <= set(done)


def zero_gains(model: nn.Module) -> list[str]:
    return [name for name, value in model.named_parameters() if name.endswith("weight") and not value.any()]


@pytest.mark.slow
def test_zero_residual_starts_torchvisions_blocks_as_identities() -> None:
    from torchvision.models import resnet18 as theirs
    from torchvision.models import resnet50

    for model in (resnet18(Shape(3, channels=3, size=32)), resnet50(num_classes=3)):
        initialise(model, planned("zero_residual"))
        reference = (theirs if len(list(model.parameters())) < 100 else resnet50)(zero_init_residual=True)
        assert zero_gains(model) == zero_gains(reference) != []


@pytest.mark.slow
def test_weights_that_were_given_are_never_touched(tmp_path: Path) -> None:
    torch.manual_seed(0)
    shape = Shape(4, channels=3, size=32)
    file = str(tmp_path / "w.safetensors")
    save_file(resnet18(Shape(9, channels=3, size=32)).state_dict(), file)
    plain, model = resnet18(shape, weights=file), resnet18(shape, weights=file)
    assert initialise(model, planned("kaiming_normal")) == ["fc.weight", "fc.bias"]
    for (name, own), given in zip(model.named_parameters(), plain.parameters(), strict=True):
        assert torch.equal(own, given) == (not name.startswith("fc.")), name


def test_a_scheme_that_finds_nothing_to_set_is_an_error() -> None:
    with pytest.raises(StoneError, match="zero_residual finds no weights"):
        initialise(small_resnet(Shape(2, channels=1, size=8)), planned("zero_residual"))
    with pytest.raises(StoneError, match="above 0"):
        initialise(a_net(), planned("truncated_normal", std=0.0))
