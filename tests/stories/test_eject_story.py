"""A run ejected: the script trains to the run's weights, bit for bit, where torchstone cannot be imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from stage import TORCHRUN, call, environment, pictures, run_folder, table, texts, told

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

# Runs a script with torchstone out of reach: importing it raises ImportError.
ALONE = (
    "import runpy, sys; sys.modules['torchstone'] = None; sys.argv = sys.argv[1:]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)


def data(kind: str, folder: Path) -> str:
    """Makes the data of a kind; returns its name."""
    if kind == "image":
        pictures(folder / "pictures", 48)
        return "pictures"
    (texts if kind == "text" else table)(folder / "data.csv", 90)
    return "data.csv"


def run_alone(script: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ALONE, script.name, *words]
    return subprocess.run(command, cwd=script.parent, env=environment(), capture_output=True, text=True, timeout=240)


def assert_same(mine: Path, theirs: Path) -> None:
    first, second = load_file(mine), load_file(theirs)
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def trained(kind: str, folder: Path, *sets: str) -> Path:
    words = [word for one in ("train.epochs=2", "train.threads=1", *sets) for word in ("--set", one)]
    told("train", data(kind, folder), "--run-name", "r", *words, cwd=folder)
    return run_folder(folder, "r") / "checkpoints"


SETS = {
    "image": ["image.augment=shift", "model.width=8", "averaging=ema", "mix=mixup"],
    "text": ["train.accumulate=2", "schedule=linear"],
    "table": ["train.precision=bf16", "train.clip_norm=0.2", "optimizer=sgd", "optimizer.lr=0.05"],
}


@pytest.mark.parametrize("kind", ["image", "text", "table"])
def test_the_script_comes_to_the_weights_of_the_run(kind: str, tmp_path: Path) -> None:
    kept = trained(kind, tmp_path, *SETS[kind])
    told("eject", "r", "-o", "plain.py", cwd=tmp_path)
    script = tmp_path / "plain.py"
    assert "torchstone" not in script.read_text(encoding="utf-8").split('"""', 2)[2]
    done = run_alone(script)
    assert done.returncode == 0, done.stderr[-3000:]
    best = "averaged" if "averaging=ema" in SETS[kind] else "model"
    assert_same(kept / "last/model.safetensors", tmp_path / "plain.safetensors")
    assert_same(kept / f"best/{best}.safetensors", tmp_path / "plain.best.safetensors")
    clean = ["-m", "ruff", "check", "--isolated", "--select", "E,F,W,I,B,UP", "--line-length", "120"]
    ruff = subprocess.run([sys.executable, *clean, script], capture_output=True, text=True)
    assert ruff.returncode == 0, ruff.stdout
    audit = json.loads(told("audit", "plain.py", "--json", cwd=tmp_path))
    assert (audit["judged"], audit["findings"]) == (1, [])


def test_a_script_that_is_stopped_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    kept = trained("table", tmp_path)
    told("eject", "r", "-o", "plain.py", cwd=tmp_path)
    script = tmp_path / "plain.py"
    text = script.read_text(encoding="utf-8")
    saved = "        save_checkpoint(training)\n"
    assert text.count(saved) == 1
    script.write_text(text.replace(saved, f"{saved}        raise SystemExit(7)\n"), encoding="utf-8")
    assert run_alone(script).returncode == 7, "after its first epoch"
    script.write_text(text, encoding="utf-8")
    done = run_alone(script, "--resume")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "epoch 1:" not in done.stdout.split("epoch 2")[0]
    assert_same(kept / "last/model.safetensors", tmp_path / "plain.safetensors")


@pytest.mark.parametrize("kind", ["table", "image"])
def test_on_two_ranks_it_comes_to_the_weights_of_a_run_on_two_ranks(kind: str, tmp_path: Path) -> None:
    words = [word for one in ("train.epochs=2", "train.accumulate=2") for word in ("--set", one)]
    done = call("train", data(kind, tmp_path), "--run-name", "r", *words, cwd=tmp_path,
                prefix=[*TORCHRUN, "-m", "torchstone"])  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    line = "torchrun --standalone --nproc-per-node=2 plain.py"
    assert line in told("eject", "r", "-o", "plain.py", cwd=tmp_path)
    assert line in (tmp_path / "plain.py").read_text(encoding="utf-8")
    done = call("plain.py", cwd=tmp_path, prefix=TORCHRUN)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("epoch 1: validation") == 1, "one rank speaks for all"
    kept = load_file(run_folder(tmp_path, "r") / "checkpoints/last/model.safetensors")
    for name, value in load_file(tmp_path / "plain.safetensors").items():
        torch.testing.assert_close(value, kept[name], rtol=1e-5, atol=1e-6)


def test_mistakes_are_told_and_nothing_is_written(tmp_path: Path) -> None:
    assert "there is no run yet" in told("eject", cwd=tmp_path, code=2)
    trained("table", tmp_path)
    assert "no run is called 'other'" in told("eject", "other", cwd=tmp_path, code=2)
    assert "let it end with .py" in told("eject", "r", "-o", "plain.txt", cwd=tmp_path, code=2)
    assert "mean losses" in told("eject", "r", "--lightning", cwd=tmp_path, code=2)
    assert "generator of its own" in told("eject", "r", "--hf", cwd=tmp_path, code=2)
    (tmp_path / "r.yaml").write_text("mine: 1\n", encoding="utf-8")
    assert "there already" in told("eject", "r", cwd=tmp_path, code=2)
    assert not (tmp_path / "r.py").exists()
    assert "next        python r.py" in told("eject", "r", "--force", cwd=tmp_path)
    told("train", "data.csv", "--run-name", "s", "--set", "train.epochs=1", "--set", "optimizer=lamb", cwd=tmp_path)
    refused = told("eject", "s", cwd=tmp_path, code=2)
    assert "optimizer.name" in refused
    assert "'lamb'" in refused
    assert not (tmp_path / "s.py").exists()
    (tmp_path / ".torchstone/runs/s/encoding.json").unlink()
    assert "never began" in told("eject", "s", cwd=tmp_path, code=2)
    (tmp_path / "data.csv").write_text("a,label\n1,x\n2,y\n", encoding="utf-8")
    told("eject", "r", "-o", "later.py", cwd=tmp_path, code=2)
    assert not (tmp_path / "later.py").exists()
