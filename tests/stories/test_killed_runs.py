"""`kill -9` of a real training, wherever it hits: the resumed run ends bit for bit like the one that was let be."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from stage import begin, checkpoints, differences, pictures, run_folder, table, texts, told, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

# What is trained: each with dropout, and a checkpoint every few steps so that kills find many places.
RECIPES: dict[str, list[str]] = {
    "table": ["table.csv", "--epochs=5", "checkpoint.every_steps=4", "averaging=ema", "model.dropout=0.2"],
    "text": ["texts.jsonl", "--epochs=4", "checkpoint.every_steps=5", "train.batch_size=8", "model.dropout=0.2"],
    "pictures": [
        "pictures", "--epochs=4", "checkpoint.every_steps=4", "train.batch_size=8", "image.augment=crop_flip",
        "image.cache_gib=0", "train.workers=0", "model.dropout=0.2", "model.width=8", "averaging=ema",
    ],
    "pictures by two workers": [
        "pictures", "--epochs=3", "checkpoint.every_steps=4", "train.batch_size=8", "image.augment=crop_flip",
        "image.cache_gib=0", "train.workers=2", "model.dropout=0.2", "model.width=8",
    ],
    "pictures changed in every way": [
        "pictures", "--epochs=3", "checkpoint.every_steps=4", "train.batch_size=8", "image.augment=crop_flip",
        "image.distort=rand_augment", "image.erase=random_erasing", "train.workers=1", "model.width=8",
        "model.norm=group", "model.stochastic_depth=0.3", "init=orthogonal",
    ],
    "edited text": [
        "texts.jsonl", "--epochs=3", "checkpoint.every_steps=5", "train.batch_size=16", "text.augment=eda",
        "model.name=text_transformer", "model.width=16", "model.stochastic_depth=0.3", "model.norm=rms",
    ],
    "pictures that stop early": [
        "pictures", "--epochs=9", "train.patience=1", "train.batch_size=8", "model.width=8", "checkpoint.every_steps=8",
    ],
}  # fmt: skip


def words(name: str) -> list[str]:
    data, epochs, *sets = RECIPES[name]
    return [data, epochs, *(word for field in sets for word in ("--set", field))]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    table(folder / "table.csv")
    texts(folder / "texts.jsonl")
    pictures(folder / "pictures")
    return folder


@pytest.fixture(scope="module", params=list(RECIPES))
def whole(request: pytest.FixtureRequest, project: Path) -> tuple[str, Path, float]:
    """A run that nobody disturbs, and its seconds from the first checkpoint to the end."""
    name = request.param.replace(" ", "-")
    process = begin("train", *words(request.param), "--run", name, cwd=project)
    run = run_folder(project, name)
    wait_until(lambda: checkpoints(run), process)
    started = time.monotonic()
    assert process.wait(timeout=240) == 0, (project / "output.txt").read_text()[-3000:]
    return request.param, run, time.monotonic() - started


def kill_when(is_so: Callable[[], object], *call_words: str, cwd: Path) -> bool:
    """Starts a training and kills it as soon as it is so; whether it was killed before its end."""
    process = begin(*call_words, cwd=cwd)
    wait_until(is_so, process)
    process.kill()
    return process.wait() == -signal.SIGKILL


def kill_after(seconds: float) -> Callable[[], bool]:
    """So many seconds from the first question on."""
    end: list[float] = []

    def is_over() -> bool:
        end.append(time.monotonic() + seconds)
        return time.monotonic() >= end[0]

    return is_over


def finish(project: Path, name: str) -> None:
    told("train", "--resume", name, cwd=project)


def test_killed_twice_in_one_epoch_and_once_at_a_random_moment(whole: tuple[str, Path, float], project: Path) -> None:
    recipe, run, seconds = whole
    draw = random.Random(len(recipe))
    cut = run_folder(project, f"{run.name}-cut")
    kills = 0
    for place in range(3):
        newest = checkpoints(cut)[-1:]
        start = ["train", *words(recipe), "--run", cut.name] if place == 0 else ["train", "--resume", cut.name]
        is_over = kill_after(draw.uniform(0, seconds) if place == 2 else 0.0)

        def is_time(newest: list[str] = newest, is_over: Callable[[], bool] = is_over) -> bool:
            return checkpoints(cut)[-1:] not in ([], newest) and is_over()

        kills += kill_when(is_time, *start, cwd=project)
    assert kills >= 2
    finish(project, cut.name)
    assert differences(run, cut) == []


def test_killed_while_a_checkpoint_is_written(whole: tuple[str, Path, float], project: Path) -> None:
    recipe, run, _ = whole
    cut = run_folder(project, f"{run.name}-torn")

    def is_writing() -> bool:
        return bool(checkpoints(cut)) and any(n.endswith(".tmp") for n in os.listdir(cut / "checkpoints"))

    assert kill_when(is_writing, "train", *words(recipe), "--run", cut.name, cwd=project)
    finish(project, cut.name)
    assert differences(run, cut) == []
    assert not list((cut / "checkpoints").glob(".*"))


def test_killed_around_the_end_of_an_epoch(whole: tuple[str, Path, float], project: Path) -> None:
    recipe, run, _ = whole
    cut = run_folder(project, f"{run.name}-border")

    def is_border() -> bool:
        return any(name.endswith("w000000") for name in checkpoints(cut))

    assert kill_when(is_border, "train", *words(recipe), "--run", cut.name, cwd=project)
    finish(project, cut.name)
    assert differences(run, cut) == []


@pytest.mark.parametrize("file", ["lock", "plan.yaml", "trace.jsonl"])
def test_killed_before_the_first_checkpoint_starts_from_the_first_step(project: Path, file: str) -> None:
    """Before there is a plan, there is no run: the same call works again; afterwards it is resumed."""
    train = ["train", *words("table"), "--run"]
    if not run_folder(project, "whole").is_dir():
        told(*train, "whole", cwd=project)
    cut = run_folder(project, f"early-{file}")
    assert kill_when(lambda: (cut / file).exists(), *train, cut.name, cwd=project)
    if (cut / "plan.yaml").exists():
        assert checkpoints(cut) or "starts again from its first step" in told(
            "train", "--resume", cut.name, cwd=project
        )
        finish(project, cut.name)
    else:
        told(*train, cut.name, cwd=project)
    assert differences(run_folder(project, "whole"), cut) == []


def test_killed_while_the_picture_cache_is_made(project: Path, tmp_path: Path) -> None:
    """What is left of the cache is told from a whole one, by the resumed run and by others."""
    words = ["train", str(project / "pictures"), "--epochs=2", "--set", "model.width=8", "--run"]
    cache = tmp_path / ".torchstone" / "cache"
    process = begin(*words, "cut", cwd=tmp_path)
    wait_until(lambda: cache.is_dir() and os.listdir(cache), process)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    finish(tmp_path, "cut")
    told(*words, "warm", cwd=tmp_path)
    told(*words, "cold", "--set", "image.cache_gib=0", "--set", "train.workers=0", cwd=tmp_path)
    for name in ("warm", "cold"):
        assert differences(run_folder(tmp_path, "cut"), run_folder(tmp_path, name)) == []


def test_killed_after_its_last_checkpoint_trains_no_epoch_more(project: Path) -> None:
    """Early stopping has ended the run; only predictions and result.json are missing."""
    name = "pictures that stop early"
    told("train", *words(name), "--run", "stopped", cwd=project)
    run = run_folder(project, "stopped")
    before = checkpoints(run)
    assert "-e0009-" not in before[-1], "it did not stop early: the story tells nothing"
    (run / "result.json").unlink()
    finish(project, "stopped")
    assert checkpoints(run) == before
