"""An adapted encoder under torchrun: the weights of one process, merged by one rank."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from stage import COMMAND, TORCHRUN, call, run_folder

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "engines" / "pytorch" / "weights"))
from small_folder import change_config, made
from test_weights_in_a_run import some_texts

pytest.importorskip("peft")
pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

# No dropout: its draws belong to a rank, and two ranks cut a batch in two.
SETTINGS = ("model=text_pretrained", "model.folder=folder", "model.dropout=0.0", "adapter=lora", "adapter.rank=4",
            "adapter.dropout=0.0", "train.precision=fp32", "train.threads=1", "optimizer.lr=0.003")  # fmt: skip


def test_two_ranks_train_the_adapters_of_one(tmp_path: Path) -> None:
    made(tmp_path / "folder")
    change_config(tmp_path / "folder", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    some_texts(tmp_path, 1)
    words = ["train", "texts1.csv", "--epochs=2", *(word for field in SETTINGS for word in ("--set", field))]
    for name, prefix in (("one", COMMAND), ("two", [*TORCHRUN, "-m", "torchstone"])):
        done = call(*words, "--run-name", name, cwd=tmp_path, prefix=prefix)
        assert done.returncode == 0, done.stderr[-3000:]
        assert done.stdout.count("in the adapters of 4 layers") == 1
    one, two = (load_file(run_folder(tmp_path, name) / "merged" / "model.safetensors") for name in ("one", "two"))
    before = load_file(tmp_path / "folder" / "model.safetensors")
    query = "encoder.layer.0.attention.self.query.weight"
    assert float((one[f"encoder.{query}"] - before[query]).abs().max()) > 1e-4
    assert all(torch.allclose(one[name], two[name], atol=1e-6) for name in one)
