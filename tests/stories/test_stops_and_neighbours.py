"""Ctrl-C, SIGTERM, two trainings at once, places that cannot be written to, and checkpoints that went bad."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stage import begin, call, checkpoints, differences, pictures, rows, run_folder, table, told, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.integration, pytest.mark.timeout(400)]

WORDS = ["train", "table.csv", "--epochs=8", "--set", "checkpoint.every_steps=4"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stops")
    table(folder / "table.csv")
    return folder


@pytest.fixture(scope="module")
def whole(project: Path) -> Path:
    told(*WORDS, "--run", "whole", cwd=project)
    return run_folder(project, "whole")


def output(project: Path) -> str:
    return (project / "output.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_one_signal_ends_the_run_after_its_step_and_says_how_to_go_on(
    whole: Path, project: Path, number: signal.Signals, code: int
) -> None:
    run = run_folder(project, f"by-{number.name}")
    process = begin(*WORDS, "--run", run.name, cwd=project)
    assert wait_until(lambda: checkpoints(run), process)
    process.send_signal(number)
    assert process.wait(timeout=60) == code, output(project)
    assert f"go on with: torchstone train --resume {run.name}" in output(project)
    assert json.loads((run / "result.json").read_text())["reason"] == f"interrupted by {number.name}"
    told("train", "--resume", run.name, cwd=project)
    assert differences(whole, run) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_whole_group_lets_the_data_workers_end_the_step(
    project: Path, number: signal.Signals
) -> None:
    """A terminal sends Ctrl-C to every process of the group, a service manager SIGTERM."""
    pictures(project / "pictures", num=480)
    sets = ("image.cache_gib=0", "train.workers=2", "train.batch_size=8", "model.width=8", "checkpoint.every_steps=5")
    run = run_folder(project, f"group-{number.name}")
    words = [*(word for field in sets for word in ("--set", field)), "--epochs=30"]
    process = begin("train", "pictures", *words, "--run", run.name, cwd=project)
    assert wait_until(lambda: len(checkpoints(run)) > 1, process)
    os.killpg(process.pid, number)
    assert process.wait(timeout=60) == 128 + number, output(project)[-3000:]
    assert f"--resume {run.name}" in output(project)
    assert json.loads((run / "result.json").read_text())["status"] == "stopped"


def test_a_killed_run_with_workers_can_be_resumed_at_once(project: Path) -> None:
    """The workers outlive it by some seconds, and must not hold its lock."""
    pictures(project / "pictures", num=480)
    sets = ("image.cache_gib=0", "train.workers=2", "train.batch_size=8", "model.width=8", "checkpoint.every_steps=5")
    words = [*(word for field in sets for word in ("--set", field)), "--epochs=3"]
    run = run_folder(project, "orphans")
    process = begin("train", "pictures", *words, "--run", run.name, cwd=project)
    assert wait_until(lambda: checkpoints(run), process)
    process.kill()
    process.wait()
    lock = subprocess.run(["flock", "--nonblock", str(run / "lock"), "true"], check=False)
    assert lock.returncode == 0


def test_a_second_signal_ends_it_at_once(whole: Path, project: Path) -> None:
    run = run_folder(project, "twice")
    process = begin(*WORDS, "--run", run.name, cwd=project)
    assert wait_until(lambda: checkpoints(run), process)
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT):  # both wait for it when it wakes
        process.send_signal(number)
    assert process.wait(timeout=20) == 130, output(project)
    assert "interrupted" in output(project)
    assert "Traceback" not in output(project)
    assert not (run / "result.json").exists(), "it ended by the first signal"
    told("train", "--resume", run.name, cwd=project)
    assert differences(whole, run) == []


def test_two_trainings_of_different_names_share_a_project_and_its_picture_cache(project: Path) -> None:
    pictures(project / "shared", num=480)
    words = ["train", "shared", "--epochs=2", "--set", "model.width=8"]
    first = begin(*words, "--run", "left", cwd=project)
    told(*words, "--run", "right", cwd=project)
    assert first.wait(timeout=120) == 0, output(project)
    assert differences(run_folder(project, "left"), run_folder(project, "right")) == []


def test_of_two_that_start_with_one_name_one_trains_and_the_other_says_why(project: Path) -> None:
    words = [*WORDS, "--run", "contested"]
    first = begin(*words, cwd=project)
    second = call(*words, cwd=project)
    assert sorted([first.wait(timeout=120), second.returncode]) == [0, 2]
    said = output(project) + second.stderr
    assert "there is a run called 'contested' already" in said or "this run is being trained by process" in said
    steps = [row["step"] for row in rows(run_folder(project, "contested"), "step")]
    assert steps == list(range(1, len(steps) + 1))


def test_the_same_name_twice_is_refused_and_nothing_is_harmed(whole: Path, project: Path) -> None:
    before = {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()}
    said = told(*WORDS, "--run", "whole", cwd=project, code=2)
    assert "there is a run called 'whole' already" in said
    assert "task " not in said, "the data was read before"
    assert {path: path.read_bytes() for path in whole.rglob("*") if path.is_file()} == before
    run = run_folder(project, "busy")
    process = begin(*WORDS, "--epochs=200", "--run", "busy", cwd=project)
    assert wait_until(lambda: checkpoints(run), process)
    plan = (run / "plan.yaml").read_bytes()
    said = told("train", "--resume", "busy", "--epochs=300", cwd=project, code=2)
    assert f"this run is being trained by process {process.pid} now" in said
    assert (run / "plan.yaml").read_bytes() == plan
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert [row["step"] for row in rows(run, "step")] == list(range(1, len(rows(run, "step")) + 1))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 3 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root may mount a disk")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(folder)], check=False).returncode:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_ends_the_run_with_a_message_and_space_lets_it_go_on(
    whole: Path, project: Path, small_disk: Path
) -> None:
    ballast = small_disk / "ballast"
    words = [*WORDS, "--project", small_disk, "--run", "full"]
    run = run_folder(small_disk, "full")
    process = begin(*words, cwd=project)
    assert wait_until(lambda: len(checkpoints(run)) > 1, process)
    with ballast.open("wb", buffering=0) as file:
        while process.poll() is None:  # fills whatever a removed checkpoint leaves free
            try:
                file.write(b"x" * 4096)
            except OSError:
                time.sleep(0.001)
    assert process.wait(timeout=60) == 2, output(project)
    assert "the disk is full; nothing that was written before is harmed" in output(project)
    assert "Traceback" not in output(project)
    assert checkpoints(run)
    said = told("train", "--resume", "full", "--project", small_disk, cwd=project, code=2)
    assert "the disk is full" in said
    ballast.unlink()
    told("train", "--resume", "full", "--project", small_disk, cwd=project)
    assert differences(whole, run) == []


def test_a_project_that_cannot_be_written_to_is_named(project: Path, small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for words in ([*WORDS, "--run", "r"], [*WORDS]):
        said = told(*words, "--project", small_disk, cwd=project, code=2)
        assert "this place cannot be written to" in said
        assert str(small_disk) in said
        assert "--project" in said


def flip(path: Path) -> None:
    """Changes one bit in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def test_a_checkpoint_with_one_wrong_bit_is_named_and_the_one_before_is_taken(whole: Path, project: Path) -> None:
    run = run_folder(project, "flipped")
    process = begin(*WORDS, "--run", run.name, cwd=project)
    assert wait_until(lambda: len(checkpoints(run)) > 2, process)
    process.kill()
    process.wait()
    before, newest = checkpoints(run)[-2:]
    flip(run / "checkpoints" / newest / "model.safetensors")
    answer: dict[str, Any] = json.loads(told("train", "--resume", run.name, "--json", cwd=project))
    assert any(newest in note and "model.safetensors has changed" in note for note in answer["notes"])
    assert f"resumed from {before}" in answer["notes"]
    assert differences(whole, run) == []


def test_when_no_checkpoint_can_be_trusted_nothing_is_trained(whole: Path, project: Path) -> None:
    run = shutil.copytree(whole, run_folder(project, "broken"), symlinks=True)
    for name in checkpoints(run):
        flip(run / "checkpoints" / name / "optimizer.safetensors")
    trace = (run / "trace.jsonl").read_bytes()
    said = told("train", "--resume", "broken", cwd=project, code=2)
    assert f"none of the run's {len(checkpoints(run))} checkpoints can be trusted" in said
    assert all(name in said for name in checkpoints(run))
    assert (run / "trace.jsonl").read_bytes() == trace


def test_a_finished_run_is_extended_and_the_schedule_is_spoken_of(whole: Path, project: Path) -> None:
    run = shutil.copytree(whole, run_folder(project, "longer"), symlinks=True)
    assert "all 8 epochs are made already" in told("train", "--resume", "longer", cwd=project)
    said = told("train", "--resume", "longer", "--set", "train.epochs=10", cwd=project)
    assert "train.epochs: 8 → 10. The cosine schedule is stretched over 10 epochs" in said
    steps = [row["step"] for row in rows(run, "step")]
    assert steps == list(range(1, len(steps) + 1))
    assert len(steps) == len(rows(whole, "step")) // 8 * 10
    sets = ["--set", "optimizer.lr=0.1", "--set", "train.seed=3"]
    refused = told("train", "--resume", "longer", *sets, cwd=project, code=2)
    assert "keeps its optimizer.lr" in refused
    assert "keeps its train.seed" in refused
    plan = (run / "plan.yaml").read_bytes()
    fewer = told("train", "--resume", "longer", "--epochs=3", cwd=project, code=2)
    assert "10 epochs are made already; it cannot end after 3" in fewer
    assert (run / "plan.yaml").read_bytes() == plan


def test_data_that_changed_since_is_refused(tmp_path: Path) -> None:
    table(tmp_path / "table.csv", 60)
    told("train", "table.csv", "--epochs=1", "--run", "old", cwd=tmp_path)
    text = (tmp_path / "table.csv").read_text()
    (tmp_path / "table.csv").write_text(text.replace("red", "black", 1))
    for words in (["train", "--resume", "old"], ["evaluate", "old"]):
        assert "the data has changed since run old was started" in told(*words, cwd=tmp_path, code=2)


def test_findings_of_severity_error_stop_it_before_the_first_step(tmp_path: Path) -> None:
    """The same rows in train and test: a score would mean nothing."""
    lines = ["length,label,split"]
    lines += [f"{index % 40},{'ab'[index % 2]},{'test' if index % 80 < 20 else 'train'}" for index in range(400)]
    (tmp_path / "leaky.csv").write_text("\n".join(lines) + "\n")
    words = ["train", "leaky.csv", "--epochs=1", "--set", "data.split_column=split"]
    findings = json.loads(told("plan", *words[1:], "--json", cwd=tmp_path, code=1))["findings"]
    errors = [finding["code"] for finding in findings if finding["severity"] == "error"]
    assert "DAT202" in errors
    said = told(*words, "--run", "gated", cwd=tmp_path, code=1)
    assert "nothing was trained" in said
    assert "DAT202" in said
    assert not (tmp_path / ".torchstone").exists()
    told(*words, "--set", f"rules.ignore={json.dumps(errors)}", "--run", "gated", cwd=tmp_path)
    assert call("evaluate", "gated", cwd=tmp_path).returncode == 0
