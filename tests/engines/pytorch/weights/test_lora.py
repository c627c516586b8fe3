"""LoRA: the model begins as it was, only adapters and head learn, merged weights say the same."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch import checkpoint, snapshot
from torchstone.engines.pytorch.adapters import adapted_layers, adapter_note, merged
from torchstone.engines.pytorch.adapters.lora import lora
from torchstone.engines.pytorch.batch import Shape
from torchstone.engines.pytorch.freezing import freeze
from torchstone.engines.pytorch.groups import parameter_groups
from torchstone.engines.pytorch.models.text_cnn import text_cnn
from torchstone.engines.pytorch.models.text_transformer import text_transformer

peft = pytest.importorskip("peft")
pytestmark = pytest.mark.slow  # importing peft brings transformers along

TOKENS = torch.randint(1, 30, (4, 8), generator=torch.Generator().manual_seed(0))


def adapted(model: nn.Module, **options: Any) -> nn.Module:
    """The model with an adapter."""
    lora(**options)(model)
    return model


def a_net(**options: Any) -> nn.Module:
    torch.manual_seed(0)
    return text_transformer(Shape(3, vocabulary=30, max_length=8), width=32, word_dropout=0.0, **options)


def moved(model: nn.Module) -> nn.Module:
    """The model after three steps of training on what it may train."""
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    model.train()
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(TOKENS), torch.tensor([0, 1, 2, 0])).backward()
        optimizer.step()
    return model.eval()


def test_an_adapted_model_begins_as_it_was() -> None:
    plain, model = a_net().eval(), adapted(a_net(), rank=4).eval()
    assert torch.equal(plain(TOKENS), model(TOKENS))


def test_a_layer_gains_alpha_over_rank_b_a_x() -> None:
    model = moved(adapted(a_net(), rank=4, alpha=10.0, dropout=0.0))
    layer: Any = adapted_layers(model)["blocks.0.qkv"]
    inputs = torch.randn(5, 32)
    down, up = layer.lora_A["default"].weight, layer.lora_B["default"].weight
    base = layer.get_base_layer()
    expected = inputs @ base.weight.T + base.bias + 10.0 / 4 * inputs @ down.T @ up.T
    assert bool(up.abs().max() > 0)
    assert torch.allclose(layer(inputs), expected, atol=1e-5)


def test_only_adapters_and_head_learn() -> None:
    plain = a_net()
    model = moved(adapted(a_net(), rank=4))
    names = [name for name, p in model.named_parameters() if p.requires_grad]
    assert all(".lora_" in name or name.startswith("head.") for name in names)
    assert len(names) == 2 * 2 + 2
    before = plain.state_dict()
    after = {name.replace(".base_layer.", "."): value for name, value in model.state_dict().items()}
    changed = [name for name in before if not torch.equal(before[name], after[name])]
    assert changed == ["head.weight", "head.bias"]
    groups, _ = parameter_groups(model, weight_decay=0.1)
    assert sum(len(group["params"]) for group in groups) == len(names)


def test_merged_weights_have_plain_names_and_say_the_same() -> None:
    model = moved(adapted(a_net(), rank=4))
    plain = merged(model)
    assert list(plain.state_dict()) == list(a_net().state_dict())
    assert torch.allclose(plain(TOKENS), model(TOKENS), atol=1e-5)
    other = a_net().eval()
    other.load_state_dict(plain.state_dict())
    assert torch.equal(other(TOKENS), plain(TOKENS))
    assert adapted_layers(model)  # the adapted one is as it was
    assert not adapted_layers(plain)


def test_merging_is_what_peft_does() -> None:
    ours = moved(adapted(a_net(), rank=4))
    config = peft.LoraConfig(r=4, lora_alpha=16, target_modules=["qkv"], modules_to_save=["head"])
    theirs = peft.get_peft_model(a_net(), config)
    state = {n: v for n, v in ours.state_dict().items() if ".lora_" in n}
    state |= {f"head.modules_to_save.default.{n}": v for n, v in ours.head.state_dict().items()}  # type: ignore[union-attr]
    _, unexpected = theirs.base_model.model.load_state_dict(state, strict=False)
    assert not unexpected
    unloaded = theirs.merge_and_unload().eval()
    assert torch.allclose(unloaded(TOKENS), merged(ours)(TOKENS), atol=1e-6)


def test_how_much_is_trained_is_told() -> None:
    model = adapted(a_net(depth=2), rank=4)
    adapters, head = 2 * 4 * (32 + 96), 32 * 3 + 3
    total = sum(p.numel() for p in a_net(depth=2).parameters()) + adapters
    note = adapter_note(model)
    assert note is not None
    assert note.startswith(f"trains {adapters + head:,} of {total:,} parameters")
    assert f"{adapters:,} in the adapters of 2 layers, {head} elsewhere" in note
    assert adapter_note(a_net()) is None


def test_frozen_blocks_are_in_eval_mode_and_adapters_are_not() -> None:
    model = adapted(a_net(), rank=4)
    frozen = freeze(model, [])
    assert model.get_submodule("blocks.0.attention_norm") in frozen
    assert model.get_submodule("blocks.0.qkv.lora_A") not in frozen
    with pytest.raises(StoneError, match="nothing to train"):
        freeze(model, ["lora_", "head"])


def test_layers_can_be_named() -> None:
    model = adapted(a_net(), rank=2, target=["feed_in", "feed_out"])
    assert sorted(adapted_layers(model)) == sorted(f"blocks.{i}.feed_{way}" for i in (0, 1) for way in ("in", "out"))


@pytest.mark.parametrize("options, said", [
    ({"rank": 0}, "rank 0"), ({"rank": -1}, "rank must be at least 1"), ({"alpha": 0.0}, "alpha above 0"),
    ({"alpha": float("nan")}, "alpha above 0"), ({"dropout": 1.0}, "dropout from 0 to below 1"),
    ({"dropout": -0.1}, "dropout from 0"), ({"rank": 33}, "only 32 dimensions"),
    ({"target": ["nothing"]}, "there are: qkv, mix, feed_in, feed_out"), ({"target": ["head"]}, "no linear layer"),
    ({"target": []}, "no attention"),
])  # fmt: skip
def test_what_cannot_be_adapted_is_refused_and_leaves_the_model_alone(options: dict[str, Any], said: str) -> None:
    model = a_net()
    with pytest.raises(StoneError, match=said):
        adapted(model, **options)
    assert all(p.requires_grad for p in model.parameters())


def test_without_peft_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(StoneError, match=r"torchstone\[lora\]"):
        adapted(a_net())


def test_a_model_without_attention_says_so() -> None:
    with pytest.raises(StoneError, match="no attention whose projections are known; its linear layers: none"):
        adapted(text_cnn(Shape(3, vocabulary=30)))


def test_a_killed_run_with_adapters_ends_like_an_uninterrupted_one(tmp_path: Path) -> None:
    from conftest import toy_job
    from torchstone.core.event import Stop
    from torchstone.engines.pytorch.loop import fit
    from torchstone.engines.pytorch.progress import Progress

    def job(folder: Path) -> Any:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3))
        model = adapted(net, rank=2, dropout=0.3, target=["0", "2"])
        optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
        return toy_job(folder, model=model, optimizer=optimizer, every_windows=2)

    def state(done: Any) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in done.model.state_dict().items()}

    whole = job(tmp_path / "whole")
    start = copy.deepcopy(whole.model.state_dict())
    fit(whole, Progress())
    fit(job(tmp_path / "cut"), Progress(), [lambda e: Stop("enough") if e.kind == "step" and e.step == 11 else None])
    cut = job(tmp_path / "cut")
    path, _ = checkpoint.newest(tmp_path / "cut")
    assert path is not None
    progress, notes = snapshot.restore(cut, checkpoint.read(path))
    assert not notes
    cut.saver.resumed_from(path, progress.extra["best_checkpoint"])
    fit(cut, progress)
    one, two = state(whole), state(cut)
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not torch.equal(one["0.lora_B.default.weight"], start["0.lora_B.default.weight"])
    assert torch.equal(one["0.base_layer.weight"], start["0.base_layer.weight"])
