"""Which tensor goes where, and when nothing is taken at all."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.models.resnet18 import resnet18
from torchstone.engines.pytorch.models.small_resnet import small_resnet
from torchstone.engines.pytorch.models.text_cnn import text_cnn
from torchstone.engines.pytorch.models.text_transformer import text_transformer
from torchstone.engines.pytorch.weights.read import Given
from torchstone.engines.pytorch.weights.report import weights_report
from torchstone.engines.pytorch.weights.take_over import take_over


def given(state: Any) -> Given:
    return Given({name: value.clone() for name, value in state.items()}, "w.safetensors", "00", "safetensors")


def pictures_net(num_outputs: int = 4, channels: int = 3) -> nn.Module:
    return small_resnet(Shape(num_outputs, channels=channels, size=16), width=8).eval()


PICTURES = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("prefix", [
    "", "module.", "model.", "net.", "_orig_mod.", "module._orig_mod.", "model.net.", "backbone.",
])  # fmt: skip
def test_any_prefix_gives_the_same_network(prefix: str) -> None:
    first, second = pictures_net(), pictures_net()
    report = take_over(second, given({prefix + name: value for name, value in first.state_dict().items()}))
    assert torch.equal(first(PICTURES), second(PICTURES))
    assert (report.fresh, report.unused) == ((), ())
    assert weights_report(second) is report


def test_torchs_wrappers_inside_the_names_do_not_matter() -> None:
    first, second = pictures_net(), pictures_net()
    wrapped = nn.Sequential(*[torch.compile(layer) for layer in first])
    assert any("_orig_mod" in name for name in wrapped.state_dict())
    take_over(second, given(wrapped.state_dict()))
    assert torch.equal(first(PICTURES), second(PICTURES))


def test_names_beside_the_network_are_told_as_unused() -> None:
    first, second = pictures_net(), pictures_net()
    state = {f"model.{name}": value for name, value in first.state_dict().items()}
    report = take_over(second, given({**state, "loss.weight": torch.ones(4), "accuracy.total": torch.ones(1)}))
    assert report.unused == ("loss.weight", "accuracy.total")
    assert "unused: loss.weight, accuracy.total" in str(report)
    assert report.to_json()["matched"] == list(second.state_dict())


def test_another_number_of_classes_leaves_the_head_fresh() -> None:
    first, second = pictures_net(4), pictures_net(7)
    report = take_over(second, given(first.state_dict()))
    head = list(second.state_dict())[-2:]
    assert list(report.fresh) == head
    before, after = nn.Sequential(*list(first)[:-1]), nn.Sequential(*list(second)[:-1])
    assert torch.equal(before(PICTURES), after(PICTURES))


def test_our_own_networks_read_grey_pictures_with_the_weights_of_colour() -> None:
    colour, grey = pictures_net(), pictures_net(channels=1)
    report = take_over(grey, given(colour.state_dict()))
    assert len(report.adapted) == 1
    some = torch.randn(2, 1, 16, 16)
    assert torch.allclose(grey(some), colour(some.repeat(1, 3, 1, 1)), atol=1e-5)


@pytest.mark.parametrize("part", [text_cnn, text_transformer])
def test_vectors_of_words_start_afresh_where_asked(part: Any) -> None:
    first, second = (part(Shape(4, vocabulary=20, max_length=8)) for _ in range(2))
    own = second.state_dict()["words.embedding.weight"].clone()
    report = take_over(second, given(first.state_dict()), fresh=("words.",))
    assert "words.embedding.weight" in report.fresh
    assert torch.equal(second.state_dict()["words.embedding.weight"], own)
    assert torch.equal(second.state_dict()["head.weight"], first.state_dict()["head.weight"])


def test_half_precision_weights_are_taken_into_single_precision() -> None:
    first, second = pictures_net(), pictures_net()
    half = {n: v.bfloat16() if v.is_floating_point() else v for n, v in first.state_dict().items()}
    take_over(second, given(half))
    assert next(second.parameters()).dtype == torch.float32
    assert torch.allclose(first(PICTURES), second(PICTURES), atol=0.1)


def test_missing_counters_of_batches_do_not_matter_but_missing_statistics_do() -> None:
    state = pictures_net().state_dict()
    take_over(pictures_net(), given({n: v for n, v in state.items() if not n.endswith("num_batches_tracked")}))
    with pytest.raises(StoneError, match="running_mean"):
        take_over(pictures_net(), given({n: v for n, v in state.items() if "running" not in n}))


def test_nothing_but_the_head_is_no_start() -> None:
    model = pictures_net()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    names = list(before)
    head_only = {name: torch.ones_like(before[name]) for name in names[-2:]}
    with pytest.raises(StoneError, match=r"2 of \d+ tensors fit"):
        take_over(model, given(head_only))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert weights_report(model) is None


def test_weights_of_another_network_are_named_side_by_side() -> None:
    with pytest.raises(StoneError) as caught:
        take_over(pictures_net(), given(text_cnn(Shape(4, vocabulary=20)).state_dict()))
    assert "the weights' names begin with words, filters, head, the model's with 0, 2" in str(caught.value)


def test_the_same_network_of_another_width_is_refused_with_both_shapes() -> None:
    wide = small_resnet(Shape(4, channels=3, size=16), width=12)
    with pytest.raises(StoneError, match=r"is \[12, 3, 3, 3\] in the weights, \[8, 3, 3, 3\] in the model"):
        take_over(pictures_net(), given(wide.state_dict()))


def test_whole_numbers_are_not_taken_for_weights() -> None:
    state = {n: v.to(torch.int8) if v.is_floating_point() else v for n, v in pictures_net().state_dict().items()}
    with pytest.raises(StoneError, match="tensors fit"):
        take_over(pictures_net(), given(state))


def test_weights_that_are_not_finite_are_refused() -> None:
    state = given(pictures_net().state_dict())
    state.tensors["0.0.weight"][0, 0, 0, 0] = float("nan")
    with pytest.raises(StoneError, match=r"0\.0\.weight and 0 other tensors hold NaN"):
        take_over(pictures_net(), state)


def test_a_stem_that_was_made_anew_may_stay_fresh_and_no_other_first_layer() -> None:
    state = resnet18(Shape(4, channels=3, size=64)).state_dict()
    state["conv1.weight"] = torch.zeros(64, 5, 7, 7)
    with pytest.raises(StoneError, match=r"conv1\.weight is \[64, 5, 7, 7\]"):
        take_over(resnet18(Shape(4, channels=3, size=64)), given(state))
