"""A project that cannot be written to."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder without the right to write; for root, whom rights do not stop, a read-only file system."""
    folder = tmp_path / "read-only"
    folder.mkdir()
    if os.geteuid() != 0:
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)
        return
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("nothing can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_read_only_project_is_named_and_the_way_out_too(read_only: Path, tmp_path: Path) -> None:
    with open(tmp_path / "points.csv", "w", newline="") as file:
        csv.writer(file).writerows([["a", "b", "label"], *([i, i * 7 % 5, "yn"[i % 2]] for i in range(60))])
    command = [sys.executable, "-m", "torchstone", "train", str(tmp_path / "points.csv"), "--project", str(read_only)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "cannot be written to" in done.stderr
    assert str(read_only) in done.stderr
    assert "--project DIR" in done.stderr
    assert "Traceback" not in done.stderr
