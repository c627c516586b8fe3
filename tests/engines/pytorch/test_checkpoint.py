"""A checkpoint is whole and unchanged, or it is named and not used."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from pathlib import Path

import pytest
import torch

from conftest import toy_job
from torchstone.core.errors import StoneError
from torchstone.engines.pytorch import checkpoint
from torchstone.engines.pytorch.checkpoint import Content
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.progress import Progress

CONTENT = Content({"model": {"w": torch.arange(6.0)}, "optimizer": {"0.m": torch.ones(2, 3)}}, {"progress": {"x": 0.1}})


def two_checkpoints(folder: Path) -> tuple[Path, Path]:
    old, new = folder / "step-00000001-e0000-w000001", folder / "step-00000002-e0000-w000002"
    checkpoint.write(CONTENT, old)
    checkpoint.write(CONTENT, new)
    return old, new


def test_what_is_written_is_read_back_exactly(tmp_path: Path) -> None:
    checkpoint.write(CONTENT, tmp_path / "step-1")
    back = checkpoint.read(tmp_path / "step-1")
    assert torch.equal(back.tensors["model"]["w"], torch.arange(6.0))
    assert torch.equal(back.tensors["optimizer"]["0.m"], torch.ones(2, 3))
    assert back.state == CONTENT.state
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"])
@pytest.mark.parametrize("damage", ["flip", "truncate", "remove", "empty"])
def test_a_damaged_checkpoint_is_refused_by_name_and_the_one_before_is_taken(
    tmp_path: Path, name: str, damage: str
) -> None:
    """One flipped byte of a tensor is accepted silently by torch.load and by safetensors alone."""
    old, new = two_checkpoints(tmp_path)
    file = new / name
    data = bytearray(file.read_bytes())
    if damage == "flip":
        data[-3] ^= 1
        file.write_bytes(data)
    elif damage == "truncate":
        file.write_bytes(data[: len(data) // 2])
    elif damage == "empty":
        file.write_bytes(b"")
    else:
        file.unlink()
    taken, refused = checkpoint.newest(tmp_path)
    assert taken == old
    assert [r.path for r in refused] == [new]
    assert name in refused[0].reason or "manifest" in refused[0].reason
    with pytest.raises(StoneError, match="not used"):
        checkpoint.read(new)


def test_a_half_written_checkpoint_is_not_seen_and_is_swept(tmp_path: Path) -> None:
    old, _ = two_checkpoints(tmp_path)
    torn = tmp_path / ".step-00000003-e0000-w000003.abcd.tmp"
    torn.mkdir()
    (torn / "model.safetensors").write_bytes(b"half")
    assert checkpoint.newest(tmp_path)[0] != torn
    checkpoint.sweep_leftovers(tmp_path)
    assert not torn.exists()
    assert old.exists()


def test_a_manifest_cannot_point_outside(tmp_path: Path) -> None:
    _, new = two_checkpoints(tmp_path)
    manifest = json.loads((new / "manifest.json").read_text())
    manifest["files"]["../step-00000001-e0000-w000001/state.json"] = "0" * 64
    (new / "manifest.json").write_text(json.dumps(manifest))
    assert "outside" in str(checkpoint.problem(new))


def test_a_full_disk_ends_with_a_message_and_leaves_the_previous_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = toy_job(tmp_path)

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fill_disk(event: object) -> None:
        if getattr(event, "kind", "") == "validation" and getattr(event, "step", 0) == 16:
            assert job.saver is not None
            job.saver.finish()
            monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(StoneError, match="disk is full"):
        fit(job, Progress(), [fill_disk])
    monkeypatch.undo()
    taken, refused = checkpoint.newest(tmp_path)
    assert taken is not None
    assert taken.name == "step-00000008-e0001-w000000"
    assert not refused
    assert not list(tmp_path.glob(".step*"))


@pytest.mark.integration
def test_a_really_full_disk(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(small)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting needs root")
    try:
        checkpoint.write(CONTENT, small / "step-1")
        big = Content({"model": {"w": torch.zeros(100_000)}}, {})
        with pytest.raises(StoneError, match="disk is full"):
            checkpoint.write(big, small / "step-2")
        assert checkpoint.newest(small)[0] == small / "step-1"
        assert sorted(p.name for p in small.iterdir()) == ["step-1"]
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_best_and_the_newest_stay(tmp_path: Path) -> None:
    job = toy_job(tmp_path, every_windows=2, keep=2, epochs=4)
    bests = []
    progress = fit(job, Progress(), [lambda e: bests.append(e.step) if e.values.get("is_best") else None])  # type: ignore[func-returns-value]
    assert (tmp_path / "best" / "model.safetensors").is_file()
    assert (tmp_path / "last" / "model.safetensors").is_file()
    assert (tmp_path / "best").resolve().name == progress.extra["best_checkpoint"]
    assert progress.best is not None
    assert f"step-{progress.best['step']:08d}" in (tmp_path / "best").resolve().name
    assert len(checkpoint.listed(tmp_path)) <= 3


def test_no_pickle_is_in_a_checkpoint(tmp_path: Path) -> None:
    fit(toy_job(tmp_path), Progress())
    kinds = {path.suffix for folder in checkpoint.listed(tmp_path) for path in folder.iterdir()}
    assert kinds == {".safetensors", ".json"}
