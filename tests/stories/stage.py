"""What the stories share: small data, calls of the command as a user makes them, and comparisons of runs."""

from __future__ import annotations

import csv
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

COMMAND = [sys.executable, "-m", "torchstone"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
TIMES = ("time", "wait_ms", "step_ms", "seconds", "examples_per_s", "ms")


def environment() -> dict[str, str]:
    """One thread, and nothing of a surrounding torchrun."""
    ranks = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RESTART_COUNT")
    return {**{k: v for k, v in os.environ.items() if k not in ranks}, "OMP_NUM_THREADS": "1"}


def call(*words: str | Path, cwd: Path, prefix: list[str] = COMMAND) -> subprocess.CompletedProcess[str]:
    """Runs torchstone to its end."""
    command = [*prefix, *map(str, words)]
    return subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True, timeout=240)


def told(*words: str | Path, cwd: Path, code: int = 0) -> str:
    """What a call prints; its exit code must be `code`, and it must never show a traceback."""
    done = call(*words, cwd=cwd)
    assert done.returncode == code, f"{done.returncode}: {done.stdout[-2000:]} {done.stderr[-3000:]}"
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def begin(*words: str | Path, cwd: Path, prefix: list[str] = COMMAND) -> subprocess.Popen[str]:
    """Starts torchstone in a process group of its own, as a shell does; output goes to cwd/output.txt."""
    with open(cwd / "output.txt", "w", encoding="utf-8") as out:
        return subprocess.Popen(
            [*prefix, *map(str, words)], cwd=cwd, env=environment(), stdout=out, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip


def wait_until(is_so: Callable[[], object], process: subprocess.Popen[str], seconds: float = 120.0) -> bool:
    """Whether it became so while the process was alive."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_so():
            return True
        if process.poll() is not None:
            return False
        time.sleep(0.001)
    raise AssertionError("it never became so")


def run_folder(project: Path, name: str) -> Path:
    """Where a run lies."""
    return project / ".torchstone" / "runs" / name


def checkpoints(run: Path) -> list[str]:
    """The names of the complete checkpoints, oldest first."""
    return sorted(path.parent.name for path in run.glob("checkpoints/step-*/manifest.json"))


def rows(run: Path, kind: str) -> list[dict[str, Any]]:
    """The rows of one kind in a trace, without times."""
    read = [json.loads(line) for line in (run / "trace.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{k: v for k, v in row.items() if k not in TIMES} for row in read if row["event"] == kind]


def state_of(checkpoint: Path) -> dict[str, Any]:
    """Everything in a checkpoint, tensors as bytes, but not the length of the trace, which holds times.

    Nor the status: it depends on the clock whether the end of the last epoch was saved before the run was finished.
    """
    content: dict[str, Any] = {path.name: path.read_bytes() for path in checkpoint.glob("*.safetensors")}
    state = json.loads((checkpoint / "state.json").read_text(encoding="utf-8"))
    state.pop("trace_bytes")
    state["progress"].pop("status")
    return {**content, "state.json": state}


def differences(one: Path, other: Path) -> list[str]:
    """What two runs do not share, bit for bit, besides times."""
    found = []
    for name in ("last", "best"):
        mine, theirs = (state_of((run / "checkpoints" / name).resolve()) for run in (one, other))
        found += [f"{name}/{file}" for file in {*mine, *theirs} if mine.get(file) != theirs.get(file)]
    found += [kind for kind in ("step", "validation") if rows(one, kind) != rows(other, kind)]
    found += ["result.json"] if (one / "result.json").read_text() != (other / "result.json").read_text() else []
    predictions = [np.load(run / "predictions" / "validation.npz") for run in (one, other)]
    found += [name for name in predictions[0] if not np.array_equal(predictions[0][name], predictions[1][name])]
    steps = [row["step"] for row in rows(one, "step")]
    return found + ([] if steps == list(range(1, len(steps) + 1)) else ["steps are not 1, 2, 3, …"])


def table(path: Path, num: int = 300) -> Path:
    """Three classes that two numbers and a category tell apart, mostly."""
    draw = random.Random(1)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["length", "width", "colour", "label"])
        for index in range(num):
            kind = index % 3
            numbers = [round(draw.gauss(centre, 1), 3) for centre in (kind, -kind)]
            writer.writerow([*numbers, draw.choice(["red", "green", "blue"]), ["oak", "ash", "elm"][kind]])
    return path


def texts(path: Path, num: int = 300) -> Path:
    """Sentences about weather or money."""
    draw = random.Random(2)
    words = {"weather": ["rain", "wind", "snow", "sun", "cloud"], "money": ["bank", "loan", "coin", "price", "rent"]}
    common = ["the", "a", "of", "is", "was", "very", "not"]
    with open(path, "w", encoding="utf-8") as file:
        for index in range(num):
            label = ["weather", "money"][index % 2]
            text = " ".join([*draw.choices(words[label], k=3), *draw.choices(common, k=5), f"n{index}"])
            file.write(json.dumps({"text": text, "label": label}) + "\n")
    return path


def pictures(folder: Path, num: int = 240, side: int = 16) -> Path:
    """A folder per class: a bright square on the left or on the right, in noise."""
    draw = np.random.default_rng(3)
    for index in range(num):
        name, start = (("left", 2), ("right", side // 2))[index % 2]
        pixels = draw.integers(0, 90, (side, side, 3), dtype=np.uint8)
        pixels[4:10, start : start + 5] += 120
        path = folder / name / f"{index:04}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
    return folder
