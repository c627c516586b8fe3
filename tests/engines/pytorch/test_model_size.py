"""Sizes counted on the meta device against what really is allocated and kept; the probe of bf16's speed."""

from __future__ import annotations

import time

import pytest
import torch

from torchstone.core.catalog import find
from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.bf16_speed import bf16_speed
from torchstone.engines.pytorch.machine import machine_facts
from torchstone.engines.pytorch.model_size import about, size_of

MODELS = "torchstone.engines.pytorch.models"
PICTURES = Shape(4, channels=3, size=32)
TEXTS = Shape(4, vocabulary=50, max_length=24)
TABLE = about(num_outputs=4, channels=0, size=0, vocabulary=0, max_length=0, numbers=5, categories=2)


@pytest.mark.parametrize(
    ("name", "shape", "modality"),
    [("small_resnet", PICTURES, "image"), ("resnet18", PICTURES, "image"), ("text_cnn", TEXTS, "text"),
     ("text_transformer", TEXTS, "text"), ("table_mlp", TABLE, "table")],
)  # fmt: skip
def test_parameters_and_kept_bytes_are_those_of_a_real_pass(name: str, shape: Shape, modality: str) -> None:
    size = size_of(name, shape, {}, modality)
    assert size is not None
    model = find(MODELS, name)(shape)
    assert size.parameters == sum(p.numel() for p in model.parameters())
    inputs = {
        "image": (torch.zeros(8, shape.channels, shape.size, shape.size),),
        "text": (torch.ones(8, shape.max_length, dtype=torch.int64),),
        "table": (torch.zeros(8, 5), torch.zeros(8, 2, dtype=torch.int64)),
    }[modality]
    kept: dict[int, torch.UntypedStorage] = {}
    own = {t.untyped_storage().data_ptr() for t in [*model.parameters(), *model.buffers()]}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        output = model.train()(*inputs)
    real = sum(storage.nbytes() for storage in kept.values()) / 8
    del output
    # another batch size spreads what is kept once for all over more examples; attention is another kernel here
    assert size.kept_bytes == pytest.approx(real, rel=0.3)


def test_recurrent_nets_are_counted_on_few_tokens_and_scaled() -> None:
    short = size_of("text_gru", Shape(4, vocabulary=50, max_length=16), {}, "text")
    long = size_of("text_gru", Shape(4, vocabulary=50, max_length=160), {}, "text")
    assert short is not None
    assert long is not None
    assert long.kept_bytes == pytest.approx(10 * short.kept_bytes, rel=0.01)
    assert long.recomputed_bytes is None  # it has no blocks


def test_blocks_computed_anew_keep_less() -> None:
    size = size_of("resnet18", Shape(4, channels=3, size=64), {}, "image")
    assert size is not None
    assert size.num_blocks == 8
    assert size.recomputed_bytes < size.kept_bytes


def test_options_count_and_options_that_cannot_be_are_refused() -> None:
    narrow, wide = (size_of("table_mlp", TABLE, {"width": width}, "table") for width in (64, 256))
    assert narrow is not None
    assert wide is not None
    assert wide.parameters > 4 * narrow.parameters
    with pytest.raises(StoneError, match="30"):
        size_of("text_transformer", TEXTS, {"width": 30, "heads": 4}, "text")
    assert size_of("table_mlp", TABLE, {}, "smell") is None  # type: ignore[arg-type]


def test_counting_holds_no_memory_and_draws_no_numbers() -> None:
    torch.manual_seed(0)
    before = torch.get_rng_state()
    size = size_of("table_mlp", TABLE, {"width": 100_000}, "table")
    assert size is not None
    assert size.weight_bytes > 30 * 2**30
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("kind", ["convolution", "product"])
def test_the_probe_is_short_measured_once_and_draws_no_numbers(kind: str) -> None:
    bf16_speed.cache_clear()
    torch.manual_seed(0)
    before = torch.get_rng_state()
    started = time.process_time()
    ratio = bf16_speed(kind)
    assert time.process_time() - started < 0.6 * torch.get_num_threads()
    assert 0.02 < ratio < 50
    assert bf16_speed(kind) == ratio
    assert torch.equal(before, torch.get_rng_state())


def test_a_rank_plans_with_its_part_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = machine_facts("cpu")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert machine_facts("cpu")["memory_budget"] == alone["memory_budget"] // 2
    assert alone["memory_budget"] == pytest.approx(0.7 * alone["memory_gib"] * 2**30)
    assert machine_facts("cpu")["device"] == "cpu"
