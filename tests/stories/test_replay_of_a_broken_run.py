"""`torchstone replay`: the batch that broke a run, once more, in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stage import call, run_folder, table, told

pytestmark = pytest.mark.integration

BROKEN = ("--label", "label", "--epochs", "2", "--set", "optimizer=sgd", "--set", "optimizer.lr=1e30",
          "--set", "train.clip_norm=0", "--run", "broken")  # fmt: skip


def test_a_run_that_blew_up_is_replayed_layer_by_layer_with_the_same_cause(tmp_path: Path) -> None:
    data = table(tmp_path / "trees.csv", 120)
    call("train", data, *BROKEN, cwd=tmp_path)
    words = told("replay", "broken", cwd=tmp_path, code=1)
    assert "values are not finite" in words
    assert "it came again, as in the run" in words
    assert "RUN201 error" in words
    assert "the run blew up" in words

    answer = json.loads(call("replay", "broken", "--json", cwd=tmp_path).stdout)
    event = [json.loads(line) for line in (run_folder(tmp_path, "broken") / "trace.jsonl").read_text().splitlines()]
    then = next(row["post_mortem"] for row in event if row["event"] == "finding" and "problem" in row)
    assert answer["post_mortem"] == then
    assert answer["is_same"] is True
    assert answer["finding"]["evidence"]["cause"] == "explosion"
    assert answer["layers"][-1]["bad_out"] or any(layer["bad_out"] for layer in answer["layers"])

    assert "no batch of step 99 is kept" in told("replay", "broken", "--step", "99", cwd=tmp_path, code=2)
    data.write_text(data.read_text() + "1,1,red,oak\n")
    assert "the data has changed" in told("replay", "broken", cwd=tmp_path, code=2)


def test_a_sound_run_has_nothing_to_replay(tmp_path: Path) -> None:
    data = table(tmp_path / "trees.csv", 120)
    told("train", data, "--label", "label", "--epochs", "1", "--run", "sound", cwd=tmp_path)
    assert "no batch is kept" in told("replay", "sound", cwd=tmp_path)
    assert "no run is called 'lost'" in told("replay", "lost", cwd=tmp_path, code=2)
