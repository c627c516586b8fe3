"""Two ranks under torchrun: the curve of one process, one writer, and no silence when a rank dies or stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from stage import TORCHRUN, begin, call, checkpoints, differences, pictures, rows, run_folder, table, told, wait_until

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]

# No dropout: its draws belong to a rank, and two ranks cut a batch in two.
WORDS = ["train", "table.csv", "--epochs=12", *(word for field in (
    "model.dropout=0.0", "checkpoint.every_steps=3", "train.threads=1",
) for word in ("--set", field)), "--run-name"]  # fmt: skip
RANKS = [*TORCHRUN, "--max-restarts", "2", "-m", "torchstone"]
NO_RESTART = [*TORCHRUN, "-m", "torchstone"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    table(folder / "table.csv", 210)
    return folder


@pytest.fixture(scope="module")
def whole(project: Path) -> Path:
    """Two ranks that nobody disturbs."""
    done = call(*WORDS, "two", cwd=project, prefix=NO_RESTART)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("best        ") == 1, "one rank speaks for all"
    return run_folder(project, "two")


def processes_of(process: subprocess.Popen[str]) -> list[int]:
    """The ranks of a torchrun, oldest first: its children that run torchstone."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if parent == process.pid and "torchstone train" in line:
                found.append(int(entry.name))
    return sorted(found)


def rank_of(pid: int) -> str:
    words = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return next(word.removeprefix("RANK=") for word in words if word.startswith("RANK="))


def numbers(run: Path) -> list[float]:
    """Every loss and validation metric of a run, in order."""
    losses = [row["loss"] for row in rows(run, "step")]
    return losses + [value for row in rows(run, "validation") for _, value in sorted(row["metrics"].items())]


def test_two_ranks_learn_what_one_process_learns_and_evaluate_agrees(whole: Path, project: Path) -> None:
    told(*WORDS, "one", cwd=project)
    one = run_folder(project, "one")
    assert numbers(whole) == pytest.approx(numbers(one), abs=1e-5)
    seen: list[dict[str, Any]] = [json.loads(told("evaluate", name, "--json", cwd=project)) for name in ("one", "two")]
    assert seen[0]["n"] == seen[1]["n"] > 0
    for name, metric in seen[0]["metrics"].items():
        assert seen[1]["metrics"][name]["value"] == pytest.approx(metric["value"], abs=1e-4)


@pytest.mark.parametrize("rank", ["0", "1"])
def test_a_rank_that_is_killed_comes_back_and_ends_with_the_same_weights(whole: Path, project: Path, rank: str) -> None:
    run = run_folder(project, f"killed-{rank}")
    process = begin(*WORDS, run.name, cwd=project, prefix=RANKS)
    assert wait_until(lambda: len(checkpoints(run)) > 1, process)
    victim = next(pid for pid in processes_of(process) if rank_of(pid) == rank)
    os.kill(victim, signal.SIGKILL)
    assert process.wait(timeout=240) == 0, (project / "output.txt").read_text()[-4000:]
    assert "resumed from step-" in (project / "output.txt").read_text()
    assert differences(whole, run) == []


def test_zero_and_a_rank_that_is_killed_end_with_the_weights_of_ddp(whole: Path, project: Path) -> None:
    """Its checkpoints are whole, so that one process too can go on with what it has saved."""
    run = run_folder(project, "killed-zero")
    process = begin(*WORDS, run.name, "--set", "train.strategy=zero", cwd=project, prefix=RANKS)
    assert wait_until(lambda: len(checkpoints(run)) > 1, process)
    os.kill(next(pid for pid in processes_of(process) if rank_of(pid) == "1"), signal.SIGKILL)
    assert process.wait(timeout=240) == 0, (project / "output.txt").read_text()[-4000:]
    assert differences(whole, run) == []
    alone = call("train", "--resume", run.name, "--set", "train.epochs=13", cwd=project)
    assert alone.returncode == 0, alone.stderr[-3000:]
    assert "train.strategy: zero → single" in alone.stdout + alone.stderr


def test_a_rank_that_is_killed_before_the_first_checkpoint_begins_again(whole: Path, project: Path) -> None:
    run = run_folder(project, "killed-early")
    process = begin(*WORDS, run.name, cwd=project, prefix=RANKS)
    assert wait_until(lambda: (run / "trace.jsonl").exists(), process)
    os.kill(processes_of(process)[-1], signal.SIGKILL)
    assert process.wait(timeout=240) == 0, (project / "output.txt").read_text()[-4000:]
    assert differences(whole, run) == []


def test_a_rank_that_no_longer_answers_ends_the_others_with_a_message(project: Path) -> None:
    run = run_folder(project, "silent")
    timeout = ["--set", "train.rank_timeout_minutes=0.1", "--set", "train.epochs=400"]
    process = begin(*WORDS, run.name, *timeout, cwd=project, prefix=NO_RESTART)
    assert wait_until(lambda: len(checkpoints(run)) > 1, process)
    stopped = next(pid for pid in processes_of(process) if rank_of(pid) == "1")
    os.kill(stopped, signal.SIGSTOP)
    started = time.monotonic()
    code = process.wait(timeout=120)  # the limit of six seconds, and torchrun's thirty until it kills the stopped one
    output = (project / "output.txt").read_text()
    assert code != 0, output[-3000:]
    assert "another rank has died or does not answer" in output
    assert "train --resume silent" in output
    assert time.monotonic() - started < 90
    assert json.loads((run / "result.json").read_text())["status"] == "failed"


def test_ctrl_c_under_torchrun_leaves_a_run_that_one_process_can_finish_too(whole: Path, project: Path) -> None:
    run = run_folder(project, "ctrl-c")
    process = begin(*WORDS, run.name, cwd=project, prefix=NO_RESTART)
    assert wait_until(lambda: len(checkpoints(run)) > 1, process)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=120) != 0
    output = (project / "output.txt").read_text()
    assert "torchstone train --resume ctrl-c" in output, output[-3000:]
    assert json.loads((run / "result.json").read_text())["status"] == "stopped"
    done = call("train", "--resume", "ctrl-c", cwd=project, prefix=NO_RESTART)
    assert done.returncode == 0, done.stderr[-3000:]
    assert differences(whole, run) == []


def test_a_run_of_one_process_goes_on_with_two_ranks_and_says_so(project: Path) -> None:
    """And back: how the ranks meet belongs to the machine, not to the run."""
    told(*WORDS, "grown", cwd=project)
    done = call("train", "--resume", "grown", "--epochs=14", cwd=project, prefix=NO_RESTART)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "train.strategy: single → ddp" in done.stdout
    assert "saved by 1 ranks, resumed by 2" in done.stdout
    assert "ddp → single" in told("train", "--resume", "grown", "--epochs=16", cwd=project)
    steps = [row["step"] for row in rows(run_folder(project, "grown"), "step")]
    assert steps == list(range(1, len(steps) + 1))


def test_batchnorm_over_two_ranks_learns_what_one_process_learns(project: Path) -> None:
    pictures(project / "pictures", 96)
    fields = ("train.sync_batchnorm=true", "train.batch_size=17", "model.width=8", "image.distort=trivial_augment",
              "train.workers=0", "train.threads=1")  # fmt: skip
    words = ["train", "pictures", "--epochs=2", *(w for field in fields for w in ("--set", field)), "--run-name"]
    told(*words, "one-process", cwd=project)
    done = call(*words, "two-ranks", cwd=project, prefix=NO_RESTART)
    assert done.returncode == 0, done.stderr[-3000:]
    one, two = (numbers(run_folder(project, name)) for name in ("one-process", "two-ranks"))
    assert two == pytest.approx(one, abs=2e-3)


def test_no_rank_reads_the_best_checkpoint_before_it_is_written(project: Path) -> None:
    """Rank 1 writes nothing, is through first, and would find no `best` for the predictions."""
    script = str(Path(__file__).with_name("slow_disk.py"))
    words = ["train", "table.csv", "--epochs=1", "--set", "train.threads=1", "--run-name", "slow"]
    done = call(*words, cwd=project, prefix=[*TORCHRUN, script])
    assert done.returncode == 0, done.stderr[-3000:]
    assert (run_folder(project, "slow") / "predictions" / "validation.npz").is_file()
