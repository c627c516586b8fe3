"""Blocks left out at random: torchvision's numbers, the linear rule, and the same expectation."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torchvision.ops import stochastic_depth

from torchstone.core import catalog
from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.models.small_resnet import small_resnet
from torchstone.engines.pytorch.models.table_resnet import table_resnet
from torchstone.engines.pytorch.models.text_transformer import text_transformer
from torchstone.engines.pytorch.stochastic_depth import StochasticDepth, linear_rule

MODELS: dict[str, tuple[Any, Shape, tuple[Tensor, ...]]] = {
    "small_resnet": (small_resnet, Shape(3, channels=1, size=8), (torch.randn(6, 1, 8, 8),)),
    "table_resnet": (
        table_resnet, Shape(3, numbers=2, categories=(4,)), (torch.randn(6, 2), torch.ones(6, 1, dtype=torch.int64)),
    ),
    "text_transformer": (text_transformer, Shape(3, vocabulary=9, max_length=5), (torch.randint(1, 9, (6, 5)),)),
}  # fmt: skip


@pytest.mark.parametrize("shape", [(50, 3), (50, 2, 4, 4)])
def test_the_numbers_are_torchvisions(shape: tuple[int, ...]) -> None:
    given = torch.randn(shape)
    torch.manual_seed(5)
    own = StochasticDepth(0.3)(given)
    torch.manual_seed(5)
    assert torch.equal(own, stochastic_depth(given, 0.3, "row"))


def test_the_expected_value_is_that_of_evaluation() -> None:
    torch.manual_seed(0)
    given, probability = torch.tensor([1.0, -2.0]).repeat(40_000, 1), 0.4
    out = StochasticDepth(probability)(given)
    error = (probability / (1 - probability) / 40_000) ** 0.5
    assert torch.allclose(out.mean(0), given[0], rtol=3.5 * error, atol=0)
    assert ((out == 0).all(1) | torch.isclose(out, given / 0.6).all(1)).all()


def test_evaluation_and_probability_zero_draw_nothing() -> None:
    given, state = torch.randn(4, 3), torch.get_rng_state()
    assert StochasticDepth(0.9).eval()(given) is given
    assert StochasticDepth(0.0)(given) is given
    assert torch.equal(torch.get_rng_state(), state)


def test_probabilities_rise_evenly_to_the_last_block() -> None:
    """Huang et al. 2016, equation 4: survival 1 - l/L (1 - p_L)."""
    survival = [1 - block / 5 * (1 - 0.5) for block in range(1, 6)]
    assert linear_rule(0.5, 5) == pytest.approx([1 - p for p in survival])
    assert linear_rule(0.2, 0) == []
    for wrong in (-0.1, 1.0):
        with pytest.raises(StoneError, match="stochastic_depth"):
            linear_rule(wrong, 3)


@pytest.mark.parametrize("name", MODELS)
def test_each_model_drops_its_blocks_in_training_alone(name: str) -> None:
    part, shape, inputs = MODELS[name]
    torch.manual_seed(0)
    plain = part(shape, depth=3)
    torch.manual_seed(0)
    model = part(shape, depth=3, stochastic_depth=0.6)
    assert list(model.state_dict()) == list(plain.state_dict())
    drops = [module.probability for module in model.modules() if isinstance(module, StochasticDepth)]
    assert drops == pytest.approx(linear_rule(0.6, len(drops)))
    assert torch.equal(model.eval()(*inputs), plain.eval()(*inputs))
    calls: list[Tensor] = []
    for module in model.train().modules():
        if isinstance(module, StochasticDepth):
            module.register_forward_hook(lambda _, __, out: calls.append(out.flatten(1).abs().sum(1) == 0))
    with torch.no_grad():
        for gain in (p for n, p in model.named_parameters() if n.endswith("second.1.weight")):
            gain.fill_(1.0)
        for _ in range(300):
            model(*inputs)
    dropped = torch.stack(calls).float().mean(1).view(300, -1).mean(0)
    times = len(dropped) // len(drops)
    expected = torch.tensor(drops).repeat_interleave(times)
    assert torch.allclose(dropped, expected, atol=3.5 * (0.25 / 1800) ** 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("name, option, default", [
    ("convnext_tiny", "stochastic_depth", 0.1), ("efficientnet_b0", "stochastic_depth", 0.2),
    ("efficientnet_b0", "dropout", 0.2), ("mobilenet_v3_small", "dropout", 0.2), ("mobilenet_v3_large", "dropout", 0.2),
])  # fmt: skip
def test_torchvisions_own_options_reach_its_networks(name: str, option: str, default: float) -> None:
    from torchvision.ops import StochasticDepth as Theirs

    part = catalog.find("torchstone.engines.pytorch.models", name)
    assert {o.name: o.default for o in catalog.options(part)}[option] == default

    def last(model: nn.Module) -> float:
        kind = nn.Dropout if option == "dropout" else Theirs
        return max(float(module.p) for module in model.modules() if isinstance(module, kind))

    shape = Shape(3, channels=1, size=32)
    assert last(part(shape)) == pytest.approx(default, rel=0.1)  # EfficientNet's last block has 15/16 of it
    assert last(part(shape, **{option: 0.5})) == pytest.approx(0.5, rel=0.1)
    with pytest.raises(StoneError, match=f"{option} is 1"):
        part(shape, **{option: 1.0})
