"""Preflight under torchrun: each rank looks at its own share, one speaks for all, and all of them stop or none does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from stage import TORCHRUN, call, differences, pictures, run_folder, table

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

RANKS = [*TORCHRUN, "-m", "torchstone"]
# Weights so large that the first loss costs many times a guess.
WILD = ("--set", "init.name=truncated_normal", "--set", "init.std=9")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ahead")
    table(folder / "table.csv", 210)
    return folder


@pytest.mark.parametrize("strategy", ["ddp", "zero"])
def test_the_verb_makes_all_checks_and_one_rank_answers(strategy: str, project: Path) -> None:
    done = call("preflight", "table.csv", "--set", f"train.strategy={strategy}", "--json", cwd=project, prefix=RANKS)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout)
    rows = {row["event"]: row for row in told["rows"]}
    assert set(rows) == {"batch", "gradients", "first_loss", "evaluation", "overfit", "augmentation"}
    assert not any("not_judged" in row for row in rows.values())
    alone = json.loads(call("preflight", "table.csv", "--json", cwd=project).stdout)["rows"]
    whole = next(row for row in alone if row["event"] == "first_loss")
    assert whole["num_targets"] == 2 * rows["first_loss"]["num_targets"], "a rank looks at its own share"
    assert Path(told["first_batch"]).is_file()


def test_synchronised_batchnorm_is_not_asked_and_nobody_waits(tmp_path: Path) -> None:
    pictures(tmp_path / "sides", 96)
    words = ("--set", "train.sync_batchnorm=true", "--set", "model.width=8", "--set", "train.batch_size=17")
    done = call("preflight", "sides", *words, cwd=tmp_path, prefix=RANKS)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "shapes      not judged  2 ranks and synchronised BatchNorm: the model is not asked" in done.stdout


def test_an_error_stops_all_ranks_before_the_first_step_and_leaves_nothing(project: Path) -> None:
    words = ["train", "table.csv", "--epochs=1", *WILD, "--set", 'rules.severity={"RUN704": "error"}', "--json"]
    done = call(*words, "--run-name", "wild", cwd=project, prefix=RANKS)
    assert done.returncode == 1, done.stderr[-3000:]
    told = json.loads(done.stdout)
    assert told["status"] == "blocked"
    assert "RUN704" in [finding["code"] for finding in told["findings"]]
    assert not run_folder(project, "wild").exists()


def test_a_run_on_two_ranks_is_the_same_with_and_without(project: Path) -> None:
    words = ("train", "table.csv", "--epochs=2", "--set", "train.threads=1", "--run-name")
    for more in (("seen",), ("unseen", "--no-preflight")):
        done = call(*words, *more, cwd=project, prefix=RANKS)
        assert done.returncode == 0, done.stderr[-3000:]
    assert differences(run_folder(project, "seen"), run_folder(project, "unseen")) == []
    notes = [json.loads(line) for line in (run_folder(project, "seen") / "trace.jsonl").read_text().splitlines()]
    assert any(row["event"] == "note" and row["text"].startswith("first loss") for row in notes)
