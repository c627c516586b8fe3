"""A transformers folder as a model: its own tokenizer, its own states, nothing from elsewhere."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hand_made import a_dataset, a_plan
from safetensors.torch import load_file, save_file

sys.path.insert(0, __file__.rpartition("/")[0])
from small_folder import change_config, made

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.models.text_pretrained import text_pretrained
from torchstone.engines.pytorch.sources.text_folder import fit, open_source, shape
from torchstone.engines.pytorch.weights.report import weights_report

pytest.importorskip("transformers")
pytestmark = pytest.mark.slow  # importing transformers alone takes some ten CPU seconds

TEXTS = ["the bank", "bread is food, soup is food", "", "coins and a zebra", "race"]
SPLIT = ["train"] * 4 + ["validation"]


def opened(folder: Path, **fields: Any) -> tuple[dict[str, Any], Any]:
    data = a_dataset({"text": TEXTS}, {"text": "text"}, [0, 1, 0, 1, 0], SPLIT)
    plan = a_plan(model__options__folder=str(folder), **fields)
    encoding = json.loads(json.dumps(fit(data, plan)))
    return encoding, open_source(data, encoding, plan)


@pytest.mark.parametrize("kind, changes", [
    ("bert", {}), ("roberta", {"pad_token_id": 1}), ("distilbert", {"dim": 16, "n_layers": 2, "n_heads": 2}),
    ("electra", {"embedding_size": 16}), ("modernbert", {"vocab_size": 20, "cls_token_id": 2, "sep_token_id": 3}),
])  # fmt: skip
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_logits_are_the_head_of_what_transformers_says(
    kind: str, changes: dict[str, Any], pooling: Any, tmp_path: Path
) -> None:
    from transformers import AutoModel, AutoTokenizer

    made(tmp_path, kind, **changes)
    encoding, source = opened(tmp_path)
    model = text_pretrained(shape(encoding, 3), folder=str(tmp_path), pooling=pooling).eval()
    theirs = AutoModel.from_pretrained(tmp_path, local_files_only=True).eval()
    with torch.inference_mode():
        logits = model(*source.batch(np.arange(5), None).inputs)
        for row, text in enumerate(TEXTS):  # one by one: no padding at all
            tokens = torch.tensor([source.batch(np.array([row]), None).inputs[0][0][: _length(source, row)].tolist()])
            states = theirs(input_ids=tokens).last_hidden_state[0]
            pooled = states.mean(0) if pooling == "mean" else states[0]
            assert torch.allclose(logits[row], model.head(pooled), atol=1e-5), text
    if kind == "bert":  # the made-up tokenizer is one of BERT's
        words = AutoTokenizer.from_pretrained(tmp_path, local_files_only=True)
        assert words("the bank")["input_ids"][:4] == [2, 4, 8, 3]


def _length(source: Any, row: int) -> int:
    return int(source.batch(np.array([row]), None).inputs[1].sum())


def test_tokens_are_the_folders_without_the_padding_and_truncation_that_were_saved(tmp_path: Path) -> None:
    made(tmp_path)
    encoding, source = opened(tmp_path)
    tokens, mask = source.batch(np.array([0, 1]), None).inputs
    assert tokens[0].tolist() == [2, 4, 8, 3, *[0] * 8]
    assert tokens[1][: int(mask[1].sum())].tolist() == [2, 10, 19, 9, 1, 11, 19, 9, 3]
    assert mask[0].tolist() == [1] * 4 + [0] * 8
    assert tokens.dtype == mask.dtype == torch.int64
    assert len(encoding["tokenizer_sha256"]) == len(encoding["config_sha256"]) == 64


def test_a_cut_text_keeps_its_special_tokens(tmp_path: Path) -> None:
    made(tmp_path)
    encoding, source = opened(tmp_path, text__max_length=4)
    assert source.batch(np.array([1]), None).inputs[0][0].tolist() == [2, 10, 19, 3]
    assert encoding["train_texts_cut"] == 2
    assert "lose their end" in source.notes[0]


def test_the_run_is_judged_without_the_folder(tmp_path: Path) -> None:
    made(tmp_path / "f")
    encoding, source = opened(tmp_path / "f")
    before = text_pretrained(shape(encoding, 2), folder=str(tmp_path / "f")).eval()
    shutil.rmtree(tmp_path / "f")
    after = text_pretrained(shape(encoding, 2), folder=str(tmp_path / "f"), weights=None).eval()
    after.load_state_dict(before.state_dict())
    data = a_dataset({"text": TEXTS}, {"text": "text"}, [0, 1, 0, 1, 0], SPLIT)
    again = open_source(data, encoding, a_plan())
    one, two = source.batch(np.arange(5), None).inputs, again.batch(np.arange(5), None).inputs
    assert torch.equal(before(*one), after(*two))


def test_what_was_taken_over_is_told(tmp_path: Path) -> None:
    made(tmp_path)
    encoding, _ = opened(tmp_path)
    report = weights_report(text_pretrained(shape(encoding, 2), folder=str(tmp_path)))
    assert report is not None
    assert report.fresh == ("head.weight", "head.bias")
    assert sorted(report.unused) == ["pooler.dense.bias", "pooler.dense.weight"]
    assert all(name.startswith("encoder.") for name in report.matched)
    assert weights_report(text_pretrained(shape(encoding, 2), folder=str(tmp_path), weights=None)) is None


def test_a_classifier_of_transformers_lends_its_encoder(tmp_path: Path) -> None:
    network = made(tmp_path)
    encoding, source = opened(tmp_path)
    plain = text_pretrained(shape(encoding, 2), folder=str(tmp_path)).eval()
    state = {f"bert.{name}": value for name, value in network.state_dict().items()}
    old = {n.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): v
           for n, v in state.items()}  # fmt: skip
    save_file({**old, "classifier.weight": torch.ones(7, 16)}, tmp_path / "w.safetensors")
    lent = text_pretrained(shape(encoding, 2), folder=str(tmp_path), weights=str(tmp_path / "w.safetensors")).eval()
    inputs = source.batch(np.arange(5), None).inputs
    lent.head.load_state_dict(plain.head.state_dict())
    assert torch.equal(plain(*inputs), lent(*inputs))


def test_a_whole_model_of_ours_lends_its_head_too(tmp_path: Path) -> None:
    made(tmp_path)
    encoding, _ = opened(tmp_path)
    first = text_pretrained(shape(encoding, 2), folder=str(tmp_path))
    save_file(first.state_dict(), tmp_path / "ours.safetensors")
    second = text_pretrained(shape(encoding, 2), folder=str(tmp_path), weights=str(tmp_path / "ours.safetensors"))
    assert torch.equal(first.head.weight, second.head.weight)
    report = weights_report(second)
    assert report is not None
    assert report.fresh == ()


def test_a_tensor_that_is_missing_is_no_silent_fresh_start(tmp_path: Path) -> None:
    made(tmp_path)
    encoding, _ = opened(tmp_path)
    state = load_file(tmp_path / "model.safetensors")
    last = [name for name in state if "layer.1.output.LayerNorm" in name]
    save_file({n: v for n, v in state.items() if n not in last}, tmp_path / "model.safetensors")
    with pytest.raises(StoneError, match=r"layer\.1\.output\.LayerNorm"):
        text_pretrained(shape(encoding, 2), folder=str(tmp_path))


def test_the_pickle_beside_is_never_read(tmp_path: Path) -> None:
    made(tmp_path)
    encoding, _ = opened(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(StoneError, match=r"no model\.safetensors in this folder"):
        text_pretrained(shape(encoding, 2), folder=str(tmp_path))


@pytest.mark.parametrize("values, said", [
    ({"auto_map": {"AutoModel": "evil.Model"}}, "auto_map"), ({"quantization_config": {"bits": 4}}, "quantization"),
    ({"_attn_implementation": "someone/kernel"}, "_attn_implementation"),
    ({"num_hidden_layers": 10**9}, "at most 1000"),
    ({"model_type": "no-such-model"}, "cannot build"), ({"num_attention_heads": 3}, "cannot build"),
    ({"is_encoder_decoder": True}, "encoder with a decoder"),
])  # fmt: skip
def test_a_configuration_that_needs_more_than_transformers_is_refused(
    values: dict[str, Any], said: str, tmp_path: Path
) -> None:
    made(tmp_path)
    change_config(tmp_path, **values)
    encoding, _ = opened(tmp_path)
    with pytest.raises(StoneError, match=said):
        text_pretrained(shape(encoding, 2), folder=str(tmp_path))


@pytest.mark.parametrize("name, content, said", [
    ("tokenizer.json", None, "AutoTokenizer"), ("config.json", None, "config.json cannot be read"),
    ("config.json", b"{", "no JSON"), ("config.json", b"[]", "model_type"), ("config.json", b"\xff\xfe", "UTF-8"),
    ("tokenizer.json", b"{}", "this tokenizer cannot be read"),
])  # fmt: skip
def test_a_folder_that_lacks_something_says_what(name: str, content: bytes | None, said: str, tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(StoneError, match=said):
        opened(tmp_path)


def test_without_transformers_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path)
    encoding, _ = opened(tmp_path)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(StoneError, match=r"torchstone\[transformers\]"):
        text_pretrained(shape(encoding, 2), folder=str(tmp_path))


def test_a_roberta_keeps_its_first_positions_for_padding(tmp_path: Path) -> None:
    made(tmp_path, "roberta", pad_token_id=1)
    with pytest.raises(StoneError, match="at most 28 tokens"):  # 32 - 2, a multiple of 4
        opened(tmp_path, text__max_length=32)


def test_fields_without_effect_and_lengths_out_of_reach_are_refused(tmp_path: Path) -> None:
    made(tmp_path)
    for fields in ({"text__vocabulary": 100}, {"text__lowercase": True}):
        with pytest.raises(StoneError, match="no effect"):
            opened(tmp_path, **fields)
    with pytest.raises(StoneError, match="at most 32 tokens"):
        opened(tmp_path, text__max_length=64)
