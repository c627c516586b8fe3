"""Weights from files and folders: every layout gives the same tensors, nothing else is read."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch import checkpoint
from torchstone.engines.pytorch.checkpoint import Content
from torchstone.engines.pytorch.weights.read import INDEX, lent_encoding, read_weights

STATE = {"a.weight": torch.arange(6.0).view(2, 3), "a.bias": torch.ones(2), "b.weight": torch.zeros(4)}


def same(found: Any) -> bool:
    return found.keys() == STATE.keys() and all(torch.equal(found[name], STATE[name]) for name in STATE)


def a_checkpoint(folder: Path, **more: dict[str, Tensor]) -> Path:
    checkpoint.write(Content({"model": STATE, **more}, {"progress": {}}), folder)
    return folder


@pytest.mark.parametrize("wrap", [
    lambda state: state,
    lambda state: {"state_dict": state, "epoch": 3},
    lambda state: {"model": state, "optimizer": {"lr": 0.1}},
    lambda state: {"model_state_dict": state},
    lambda state: {"pytorch-lightning_version": "2.5.0", "state_dict": state, "loops": {"fit": [1, 2]}},
])  # fmt: skip
@pytest.mark.parametrize("suffix", ["pt", "pth", "bin", "ckpt"])
def test_what_torch_saved_is_read_without_running_code(tmp_path: Path, wrap: Any, suffix: str) -> None:
    torch.save(wrap(STATE), tmp_path / f"w.{suffix}")
    assert same(read_weights(str(tmp_path / f"w.{suffix}")).tensors)


def test_safetensors_are_read_with_their_digest(tmp_path: Path) -> None:
    save_file(STATE, tmp_path / "w.safetensors")
    given = read_weights(str(tmp_path / "w.safetensors"))
    assert same(given.tensors)
    assert len(given.sha256) == 64


def test_a_folder_with_model_safetensors_is_enough(tmp_path: Path) -> None:
    save_file(STATE, tmp_path / "model.safetensors")
    assert same(read_weights(str(tmp_path)).tensors)


def sharded(folder: Path) -> None:
    save_file({"a.weight": STATE["a.weight"]}, folder / "model-1.safetensors")
    save_file({name: STATE[name] for name in ("a.bias", "b.weight")}, folder / "model-2.safetensors")
    places = {"a.weight": "model-1.safetensors", "a.bias": "model-2.safetensors", "b.weight": "model-2.safetensors"}
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": places}))


def test_shards_are_put_together(tmp_path: Path) -> None:
    sharded(tmp_path)
    for place in (tmp_path, tmp_path / INDEX):
        given = read_weights(str(place))
        assert same(given.tensors)
        assert given.layout == "safetensors in 2 shards"


def test_a_shard_outside_the_folder_or_absent_is_refused(tmp_path: Path) -> None:
    sharded(tmp_path)
    (tmp_path / "model-2.safetensors").rename(tmp_path / "elsewhere.safetensors")
    with pytest.raises(StoneError, match="model-2"):
        read_weights(str(tmp_path))
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": {"a": "../../etc/passwd"}}))
    with pytest.raises(StoneError, match="not beside it"):
        read_weights(str(tmp_path))
    (tmp_path / INDEX).write_text("{}")
    with pytest.raises(StoneError, match="no weight_map"):
        read_weights(str(tmp_path))


def test_a_torchstone_run_and_its_checkpoints_lend_weights_and_encoding(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "first"
    folder = a_checkpoint(run / "checkpoints" / "step-00000001-e0001-w000000")
    (run / "plan.yaml").write_text("version: 1")
    (run / "encoding.json").write_text('{"tokenizer": "x"}')
    (run / "checkpoints" / "best").symlink_to(folder.name)
    for place in (run, run / "checkpoints" / "best", folder):
        assert same(read_weights(str(place)).tensors)
        assert lent_encoding(str(place)) == {"tokenizer": "x"}
    assert lent_encoding(str(tmp_path)) is None


def test_averaged_weights_come_before_the_raw_ones(tmp_path: Path) -> None:
    averaged = {name: value + 1 for name, value in STATE.items()}
    given = read_weights(str(a_checkpoint(tmp_path / "step-00000001", averaged=averaged)))
    assert torch.equal(given.tensors["a.bias"], averaged["a.bias"])
    assert given.layout.startswith("averaged weights")


def test_a_checkpoint_that_has_changed_is_refused(tmp_path: Path) -> None:
    folder = a_checkpoint(tmp_path / "step-00000001")
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(StoneError, match="has changed since it was written"):
        read_weights(str(folder))


class Evil:
    """Would create a file if it were unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", [
    "missing.safetensors", "truncated.safetensors", "huge.safetensors", "empty.safetensors", "notes.safetensors",
    "evil.pt", "namespace.ckpt", "list.pt", "mixed.pt", "truncated.pt", "empty.pt", "archive.zip", "model.onnx", ".",
])  # fmt: skip
def test_whatever_holds_no_tensors_is_a_mistake_of_the_user(tmp_path: Path, name: str) -> None:
    save_file(STATE, tmp_path / "whole.safetensors")
    torch.save(STATE, tmp_path / "whole.pth")
    for kind, whole in (("safetensors", "whole.safetensors"), ("pt", "whole.pth")):
        content = (tmp_path / whole).read_bytes()
        (tmp_path / f"truncated.{kind}").write_bytes(content[: len(content) // 2])
        (tmp_path / f"empty.{kind}").write_bytes(b"")
    (tmp_path / "huge.safetensors").write_bytes((2**62).to_bytes(8, "little") + b"{}")
    (tmp_path / "notes.safetensors").write_text("these are notes, and rather long ones")
    (tmp_path / "archive.zip").write_bytes(b"PK\3\4")
    (tmp_path / "model.onnx").write_bytes(b"\x08\x07")
    torch.save(Evil(tmp_path / "harm"), tmp_path / "evil.pt")
    torch.save({"state_dict": STATE, "hyper_parameters": argparse.Namespace(lr=1)}, tmp_path / "namespace.ckpt")
    torch.save([1, 2], tmp_path / "list.pt")
    torch.save({"a": torch.ones(1), "b": "text"}, tmp_path / "mixed.pt")
    with pytest.raises(StoneError) as caught:
        read_weights(str(tmp_path / name))
    assert caught.value.fix
    assert str(tmp_path) in str(caught.value)
    assert not (tmp_path / "harm").exists()


def test_the_message_about_a_file_that_could_run_code_does_not_say_how_to_run_it(tmp_path: Path) -> None:
    torch.save({"model": STATE, "args": argparse.Namespace(lr=0.1)}, tmp_path / "w.pth")
    with pytest.raises(StoneError, match="what could run code is never read") as caught:
        read_weights(str(tmp_path / "w.pth"))
    assert "weights_only" not in str(caught.value)
