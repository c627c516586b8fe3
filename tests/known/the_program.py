"""Training as a user does it: the real program on a folder or file, in a project of its own."""

from __future__ import annotations

import csv
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from torchstone.core.recipe_file import recipe_for
from torchstone.core.run import Run, find_run
from torchstone.flows.evaluate import evaluate
from torchstone.flows.train import train

HELD_OUT_20 = ("data.split.train=0.7", "data.split.validation=0.1", "data.split.test=0.2")


@dataclass(frozen=True)
class Trained:
    """A run that `torchstone train` made: its folder, the whole process's CPU seconds, and what it printed."""

    run: Run
    project: Path
    cpu_s: float
    printed: str

    def on_test(self, metric: str) -> float:
        """A metric on the test part, as `torchstone evaluate` gives it."""
        return float(evaluate(self.run, project=self.project)["metrics"][metric]["value"])

    @property
    def result(self) -> dict[str, Any]:
        """result.json."""
        content: dict[str, Any] = json.loads(self.run.result.read_text(encoding="utf-8"))
        return content


def call(data: Path, project: Path, settings: Iterable[str] = ()) -> Trained:
    """`torchstone train DATA --set …` in a process of its own, which must succeed."""
    # one thread: several wait for each other, and on a busy machine that burns CPU time which is not the program's
    words = [word for setting in ("train.threads=1", *settings) for word in ("--set", setting)]
    line = [sys.executable, "-m", "torchstone", "train", str(data), "--project", str(project), "--run", "r", *words]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(line, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stdout + done.stderr
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Trained(find_run(project, "r"), project, cpu_s, done.stdout)


def trained(data: Path, project: Path, settings: Sequence[str] = ()) -> Trained:
    """The same without a process of its own, for what is small."""
    result = train(recipe_for(str(data), overrides=settings), project=project)
    assert result.status == "finished", result
    assert result.run is not None
    return Trained(result.run, project, 0.0, "")


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    """A CSV as spreadsheets write it."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
    return path


def write_table(path: Path, names: Sequence[str], data: np.ndarray, target: Sequence[Any]) -> Path:
    """Features [N, D] and their target, last column `target`."""
    columns = [*(str(name) for name in names), "target"]
    return write_csv(path, columns, ([*row, label] for row, label in zip(data.tolist(), target, strict=True)))
