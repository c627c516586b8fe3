"""A file of weights that cannot be read is described by what lies there, and the fix is one that helps."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from torchstone.core.errors import StoneError
from torchstone.engines.pytorch.weights.read import read_weights

STATE = {"a.weight": torch.arange(600.0).view(2, 300), "a.bias": torch.ones(2)}


class Evil:
    """Would create a file if it were unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def refused(path: Path) -> StoneError:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no word of torch's own reaches the user
        with pytest.raises(StoneError) as caught:
            read_weights(str(path))
    assert str(path) in str(caught.value)
    return caught.value


@pytest.mark.parametrize("suffix", ["safetensors", "pth", "pt", "bin", "ckpt"])
def test_an_empty_file_and_a_pointer_are_called_that(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"w.{suffix}"
    path.write_bytes(b"")
    assert "the file is empty" in str(refused(path))
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 46835659\n")
    assert refused(path).fix == "git lfs pull"


@pytest.mark.parametrize("suffix", ["safetensors", "pth"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_file_that_was_cut_off_is_to_be_brought_again_and_not_saved_otherwise(
    tmp_path: Path, suffix: str, share: float
) -> None:
    path = tmp_path / f"w.{suffix}"
    if suffix == "pth":
        torch.save(STATE, path)
    else:
        save_file(STATE, path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    error = refused(path)
    assert f"cut off: {int(share * len(content)):,} bytes" in str(error)
    assert "again" in str(error.fix)


@pytest.mark.parametrize("suffix", ["safetensors", "pth"])
def test_a_file_of_another_kind_shows_how_it_begins(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"w.{suffix}"
    path.write_text("<!DOCTYPE html>\n<html>404</html>\n")
    assert "begins with '<!DOCTYPE html>'" in str(refused(path))


def test_a_whole_model_and_code_are_named_and_never_run(tmp_path: Path) -> None:
    torch.save(nn.Linear(2, 2), tmp_path / "model.pth")
    error = refused(tmp_path / "model.pth")
    assert "more than tensors (torch.nn.modules.linear.Linear)" in str(error)
    assert "model.state_dict()" in str(error.fix)
    torch.save({"a": torch.zeros(2), "b": Evil(tmp_path / "harm")}, tmp_path / "evil.pth")
    (tmp_path / "raw.pth").write_bytes(pickle.dumps(Evil(tmp_path / "harm")))
    for name in ("evil.pth", "raw.pth"):
        assert "what could run code is never read" in str(refused(tmp_path / name))
    assert not (tmp_path / "harm").exists()
