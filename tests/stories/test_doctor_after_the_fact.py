"""Somebody has a log of last week, and asks what went wrong."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stage import call, environment, told

LOGS = Path(__file__).parents[1] / "flows" / "logs"


def csv_of(path: Path, head: str, rows) -> Path:
    path.write_text(head + "\n" + "\n".join(",".join(map(str, row)) for row in rows) + "\n", encoding="utf-8")
    return path


def test_a_table_of_losses_shows_that_the_run_overfits_and_where(tmp_path):
    rows = [(e, 2.0 * 0.85**e, 0.5 + 1.6 * 0.7**e + 0.02 * max(0, e - 8) + 0.003 * (-1) ** e) for e in range(40)]
    csv_of(tmp_path / "log.csv", "epoch,loss,val_loss", rows)
    text = told("doctor", "log.csv", cwd=tmp_path)
    assert "training loss = loss, 40 points" in text
    assert "validation loss = val_loss" in text
    assert "RUN806 advice" in text
    answer = json.loads(call("doctor", "log.csv", "--json", cwd=tmp_path).stdout)
    assert [finding["code"] for finding in answer["findings"]] == ["RUN806"]
    assert answer["findings"][0]["where"]["path"] == "log.csv"
    assert answer["runs"][0]["curves"]["training_loss"]["name"] == "loss"
    assert "nothing found" in told("doctor", "log.csv", "--ignore", "RUN806", cwd=tmp_path)


def test_nan_closes_the_gate_and_names_that_fit_equally_well_are_asked_for(tmp_path):
    csv_of(tmp_path / "nan.csv", "step,train_loss", [(n, 1.0 / n if n < 15 else "nan") for n in range(1, 30)])
    assert "RUN801 error" in told("doctor", "nan.csv", cwd=tmp_path, code=1)
    csv_of(tmp_path / "two.csv", "epoch,cls_loss,box_loss", [(n, 1.0 / n, 2.0 / n) for n in range(1, 9)])
    text = told("doctor", "two.csv", cwd=tmp_path, code=2)
    assert "cls_loss, box_loss" in text
    assert "--train" in text
    assert "training loss = box_loss" in told("doctor", "two.csv", "--train", "box_loss", cwd=tmp_path)


def test_a_folder_of_tensorboard_runs_needs_no_tensorboard(tmp_path):
    shutil.copytree(LOGS / "keras", tmp_path / "logs" / "keras")
    shutil.copytree(LOGS / "plain", tmp_path / "logs" / "plain")
    text = told("doctor", "logs", cwd=tmp_path)
    assert "training loss = train/epoch_loss, 12 points" in text
    assert "validation score = Accuracy/val" in text


@pytest.mark.parametrize("path", ["nothing.csv", "junk.bin", "empty.csv"])
def test_what_is_no_log_is_told_with_a_way_out(tmp_path, path):
    (tmp_path / "junk.bin").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "empty.csv").write_bytes(b"")
    assert "fix: give a run of torchstone" in told("doctor", path, cwd=tmp_path, code=2)


def test_doctor_env_tells_versions_and_what_is_missing_without_loading_torch(tmp_path):
    assert "torchstone " in told("doctor", "env", cwd=tmp_path)
    code = "import sys; from torchstone.cli.main import run; run(['doctor', 'env', '--json'])"
    code += "; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True, text=True,
                          timeout=60, check=True)  # fmt: skip
    facts, is_loaded = done.stdout.strip().split("\n")
    assert is_loaded == "False"
    told_of = {"torchstone", "python", "platform", "packages", "extras", "cores", "memory", "devices"}
    assert set(json.loads(facts)) == told_of
