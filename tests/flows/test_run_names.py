"""Who may start, take up and name a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from torchstone.core.errors import StoneError
from torchstone.core.run import Run, runs_folder
from torchstone.flows.run_lock import locked
from torchstone.flows.train import check_name, common_name, new_name

HOLD = """
import sys, time
from pathlib import Path
from torchstone.core.run import Run
from torchstone.flows.run_lock import locked
with locked(Run(Path(sys.argv[1])), True):
    print("held", flush=True)
    time.sleep(60)
"""


def is_free(run: Run) -> bool:
    try:
        with locked(run, True):
            return True
    except StoneError:
        return False


def test_a_run_that_another_process_trains_is_refused_by_its_number_until_it_is_killed(tmp_path: Path) -> None:
    run = Run(tmp_path / "r")
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(run.folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(StoneError, match=f"by process {process.pid} now"), locked(run, True):
        pass
    process.kill()
    process.wait()
    process.stdout.close()
    assert is_free(run)


def test_a_child_that_outlives_a_killed_run_does_not_hold_its_lock(tmp_path: Path) -> None:
    """Data workers live on for some seconds; a copy of the handle would keep the lock."""
    run = Run(tmp_path / "r")
    reading, writing = os.pipe()
    with locked(run, True):
        child = os.fork()
        if child == 0:  # pragma: no cover  (another process)
            os.write(writing, b"here")
            signal.pause()
        assert os.read(reading, 4) == b"here"
    try:
        assert is_free(run)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)


def test_the_lock_is_free_after_the_block_and_not_asked_for_by_other_ranks(tmp_path: Path) -> None:
    run = Run(tmp_path / "r")
    with locked(run, True):
        assert not is_free(run)
        with locked(run, False):
            pass
    assert is_free(run)


def test_a_name_is_taken_by_a_run_and_not_by_what_a_killed_start_left(tmp_path: Path) -> None:
    folder = runs_folder(tmp_path) / "r"
    folder.mkdir(parents=True)
    (folder / "lock").touch()
    check_name("r", tmp_path)
    (folder / "plan.yaml").touch()
    with pytest.raises(StoneError, match="there is a run called 'r' already") as told:
        check_name("r", tmp_path)
    assert told.value.fix is not None
    assert "--resume r" in told.value.fix


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a"])
def test_a_name_that_is_no_folder_of_the_project_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoneError, match="cannot be the name"):
        check_name(name, tmp_path)


def test_two_that_start_in_one_second_get_two_names(tmp_path: Path) -> None:
    names = [new_name(tmp_path) for _ in range(3)]
    assert len(set(names)) == 3
    assert all((runs_folder(tmp_path) / name).is_dir() for name in names)


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({}, None),
        ({"WORLD_SIZE": "1", "TORCHELASTIC_RUN_ID": "abcdefghij"}, None),
        ({"WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "abcdefghij"}, "ranks-abcdefgh"),
        ({"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "none"}, f"ranks-{os.getppid()}"),
    ],
)
def test_ranks_know_a_name_without_asking_each_other(
    environment: dict[str, str], name: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"):
        monkeypatch.delenv(key, raising=False)
    for key, value in environment.items():
        monkeypatch.setenv(key, value)
    assert common_name() == name


def test_ranks_on_several_machines_want_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "none"}.items():
        monkeypatch.setenv(key, value)
    with pytest.raises(StoneError, match="agree on the run's name"):
        common_name()
