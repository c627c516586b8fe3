"""`--save-batch`: the very batch that broke the loss, in a file for its owner alone; without it nothing is written."""

from __future__ import annotations

import json
import math
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from torchstone.engines.attach import kept_batch
from torchstone.flows.watch import Doctor


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake of the doctor's own is an error here."""
    monkeypatch.setenv("TORCHSTONE_STRICT", "1")


def points(bad: int | None = 37) -> TensorDataset:
    """96 rows, of which one holds NaN."""
    x = torch.randn(96, 4, generator=torch.Generator().manual_seed(1))
    if bad is not None:
        x[bad, 2] = math.nan
    return TensorDataset(x, torch.arange(96) % 3)


def trained(folder: Path | None, bad: int | None = 37, *, has_loader: bool = True) -> tuple[Doctor, nn.Module]:
    """Three epochs in batches of 16 in the order of the rows, under a doctor."""
    torch.manual_seed(0)
    model, data = nn.Linear(4, 3), points(bad)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    slices = [data[start : start + 16] for start in range(0, 96, 16)]
    with Doctor(save_batch=folder).start(model=model, optimizer=optimizer) as doctor:
        for _ in range(3):
            for x, y in DataLoader(data, 16) if has_loader else slices:
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
    assert doctor.mistakes == {}
    return doctor, model


def test_the_file_holds_the_batch_as_the_loop_had_it_and_the_finding_names_it(tmp_path: Path) -> None:
    doctor, _ = trained(tmp_path / "bad")
    finding = next(finding for finding in doctor.findings if finding.code == "RUN601")
    path = Path(finding.evidence["kept"])
    assert f"its batch is kept in {path}" in finding.what
    assert path == tmp_path / "bad" / "step-000003-loss.safetensors"
    kept, data = load_file(path), points()
    assert torch.equal(kept["batch.0"].nan_to_num(9.0), data.tensors[0][32:48].nan_to_num(9.0))
    assert torch.equal(kept["batch.1"], data.tensors[1][32:48])
    assert torch.equal(kept["input.0"].nan_to_num(9.0), kept["batch.0"].nan_to_num(9.0))
    with safe_open(path, "pt") as file:
        said = file.metadata()
    assert (said["step"], said["problem"], said["value"], said["left_out"]) == ("3", "loss", "nan", "")
    assert said["place"].partition(":")[0].endswith("test_kept_batch.py")


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    trained(tmp_path)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


def test_without_the_option_and_for_a_sound_loop_nothing_is_written(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    doctor, _ = trained(None)
    finding = next(finding for finding in doctor.findings if finding.code == "RUN601")
    assert "kept" not in finding.evidence
    assert "kept" not in finding.what
    trained(tmp_path / "sound", bad=None)
    assert list(tmp_path.iterdir()) == []


def test_a_loop_without_a_loader_keeps_what_its_model_was_given(tmp_path: Path) -> None:
    trained(tmp_path, has_loader=False)
    (path,) = [path for path in tmp_path.iterdir() if path.name == "step-000003-loss.safetensors"]
    assert set(load_file(path)) == {"input.0"}


def test_the_weights_are_the_same_with_and_without_it(tmp_path: Path) -> None:
    for bad in (None, 37):
        one, other = trained(None, bad)[1], trained(tmp_path, bad)[1]
        assert all(torch.equal(a.nan_to_num(7.0), b.nan_to_num(7.0))
                   for a, b in zip(one.parameters(), other.parameters(), strict=True))  # fmt: skip


def test_nothing_is_held_and_nothing_wrapped_when_the_doctor_has_gone(tmp_path: Path) -> None:
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    before = _BaseDataLoaderIter.__next__
    trained(tmp_path)
    assert _BaseDataLoaderIter.__next__ is before


def test_tensors_of_nested_batches_have_names_and_those_that_do_not_fit_are_named(monkeypatch) -> None:
    batch = {"input_ids": torch.zeros(2, 3), "more": [torch.ones(4), ("text", torch.ones(1))], "none": None}
    tensors = dict(kept_batch.named(batch, "batch"))
    assert list(tensors) == ["batch.input_ids", "batch.more.0", "batch.more.1.1"]
    monkeypatch.setattr(kept_batch, "LARGEST", 20)
    kept, left_out = kept_batch.fitting(tensors)
    assert (list(kept), left_out) == (["batch.more.0", "batch.more.1.1"], ["batch.input_ids"])


def test_two_names_of_one_tensor_can_be_written(tmp_path: Path) -> None:
    shared = torch.arange(6.0)
    kept, _ = kept_batch.fitting({"a": shared, "b": shared[2:]})
    from safetensors.torch import save

    assert save(kept)


def test_a_folder_that_cannot_be_made_is_said_and_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    doctor, _ = trained(tmp_path / "file" / "below")
    finding = next(finding for finding in doctor.findings if finding.code == "RUN601")
    assert finding.evidence["not_kept"]


def test_the_verb_takes_a_folder(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import os, torch\nfrom torch.utils.data import DataLoader, TensorDataset\n"
        "os.makedirs('away'); os.chdir('away')\n"
        "x = torch.randn(64, 4); x[20] = float('inf')\nmodel = torch.nn.Linear(4, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "for x, y in DataLoader(TensorDataset(x, torch.zeros(64, 1)), 16):\n"
        "    optimizer.zero_grad(); torch.nn.functional.mse_loss(model(x), y).backward(); optimizer.step()\n"
    )
    words = [sys.executable, "-m", "torchstone", "watch", "--json", "--save-batch", "bad", "script.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ})
    finding = json.loads(done.stdout.splitlines()[-1])["findings"][0]
    assert Path(finding["evidence"]["kept"]) == tmp_path / "bad" / "step-000002-loss.safetensors"
    assert load_file(finding["evidence"]["kept"])["batch.0"].shape == (16, 4)
