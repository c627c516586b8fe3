"""Blocks computed anew in the backward pass: the same bits, less memory."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import nn

from conftest import blobs, toy_job
from torchstone.core.catalog import find
from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.recompute import blocks, recompute

PICTURES = Shape(4, channels=3, size=32)
TEXTS = Shape(4, vocabulary=50, max_length=12)
MODELS: dict[str, Callable[[], tuple[nn.Module, torch.Tensor]]] = {
    "small_resnet": lambda: (made("small_resnet", PICTURES, dropout=0.3), torch.randn(6, 3, 32, 32)),
    "resnet18": lambda: (made("resnet18", PICTURES), torch.randn(4, 3, 32, 32)),
    "text_transformer": lambda: (made("text_transformer", TEXTS, dropout=0.3), torch.randint(1, 50, (5, 12))),
}


def made(name: str, shape: Shape, **options: object) -> nn.Module:
    torch.manual_seed(0)
    model: nn.Module = find("torchstone.engines.pytorch.models", name)(shape, **options)
    return model


def gradients(model: nn.Module, inputs: torch.Tensor, steps: int = 2) -> dict[str, torch.Tensor]:
    torch.manual_seed(7)
    for _ in range(steps):
        model(inputs).square().sum().backward()
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("name", MODELS)
def test_gradients_buffers_and_dropout_are_the_same_bits(name: str) -> None:
    plain, inputs = MODELS[name]()
    anew = copy.deepcopy(plain)
    assert recompute(anew) == len(blocks(plain)) > 1
    first, second = gradients(plain, inputs), gradients(anew, inputs)
    after = torch.get_rng_state()
    gradients(plain, inputs)
    assert torch.equal(after, torch.get_rng_state())  # as many numbers were drawn
    assert first.keys() == second.keys()
    plain_buffers, anew_buffers = (dict(model.named_buffers()) for model in (MODELS[name]()[0], anew))
    again = MODELS[name]()[0]
    first = gradients(again, inputs)
    assert all(torch.equal(first[key], second[key]) for key in first)
    plain_buffers = dict(again.named_buffers())
    assert plain_buffers.keys() == anew_buffers.keys()
    assert all(torch.equal(plain_buffers[key], anew_buffers[key]) for key in plain_buffers)


def test_statistics_of_batchnorm_count_each_batch_once() -> None:
    model, inputs = MODELS["small_resnet"]()
    recompute(model)
    gradients(model, inputs, steps=3)
    counts = {int(value) for name, value in model.named_buffers() if name.endswith("num_batches_tracked")}
    assert counts == {3}


def test_the_backward_pass_keeps_less() -> None:
    model, inputs = MODELS["resnet18"]()
    assert kept(copy.deepcopy(model), inputs) > 1.5 * kept(model, inputs, is_anew=True)


def kept(model: nn.Module, inputs: torch.Tensor, *, is_anew: bool = False) -> int:
    if is_anew:
        recompute(model)
    sizes: dict[int, torch.UntypedStorage] = {}
    weights = {p.untyped_storage().data_ptr() for p in model.parameters()}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage().data_ptr() not in weights:
            sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        output = model(inputs)
    del output
    return sum(storage.nbytes() for storage in sizes.values())


def test_names_of_weights_and_copies_of_the_model_stay_as_they_are() -> None:
    model, inputs = MODELS["text_transformer"]()
    names = list(model.state_dict())
    recompute(model)
    assert list(model.state_dict()) == names
    twin = copy.deepcopy(model)
    nn.init.zeros_(model.blocks[0].mix.weight)  # a copy must not run through the original's blocks
    gradients(twin, inputs)
    assert all(p.grad is None for p in model.parameters())


def test_evaluation_runs_as_it_did() -> None:
    model, inputs = MODELS["small_resnet"]()
    expected = copy.deepcopy(model).eval()(inputs)
    recompute(model)
    with torch.inference_mode():
        assert torch.equal(model.eval()(inputs), expected)


def test_a_model_without_blocks_is_an_error_that_names_the_way_out() -> None:
    with pytest.raises(StoneError, match="no blocks"):
        recompute(made("text_gru", TEXTS))


class Block(nn.Module):
    """A layer with BatchNorm and dropout beside a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs + self.inner(inputs)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_whole_run_ends_at_the_same_weights_and_average(accumulate: int) -> None:
    ends = []
    for is_anew in (False, True):
        torch.manual_seed(0)
        model = nn.Sequential(Block(), Block(), nn.Linear(8, 3))
        if is_anew:
            recompute(model)
        job = toy_job(model=model, accumulate=accumulate, source=blobs())
        fit(job, Progress())
        ends.append(model.state_dict())
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])
