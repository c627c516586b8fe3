"""A run that is cut off anywhere and resumed ends like the one that was not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from conftest import toy_job
from torchstone.core.event import Event, Stop
from torchstone.engines.pytorch import checkpoint, snapshot
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.progress import Progress

NUM_WINDOWS = 24


class Killed(Exception):
    """Stands for a process that ends between two instructions: nothing after it runs."""


def killer(at: int) -> Any:
    """An observer that ends everything after `at` more steps."""
    seen = [0]

    def observe(event: Event) -> Stop | None:
        if event.kind == "step":
            seen[0] += 1
            if seen[0] == at:
                raise Killed
        return None

    return observe


def final_state(job: Job, progress: Progress) -> dict[str, Any]:
    """Everything that must be equal, flattened."""
    content = snapshot.take(job, progress)
    tensors = {f"{file}/{name}": value for file, part in content.tensors.items() for name, value in part.items()}
    numbers = {k: v for k, v in content.state.items() if k not in ("progress",)}
    ending = {k: v for k, v in progress.to_json().items() if k != "extra"}
    return {**tensors, "numbers": numbers, "progress": ending}


def assert_same(one: dict[str, Any], two: dict[str, Any]) -> None:
    assert one.keys() == two.keys()
    for name, value in one.items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(value, two[name]), name
        else:
            assert value == two[name], name


def run_with_kills(folder: Path, kills: Sequence[int], **changes: Any) -> tuple[dict[str, Any], list[int]]:
    """Runs, dies after each number of steps in `kills`, resumes each time with all objects new; rows as they went."""
    order: list[int] = []
    for kill in [*kills, 10**9]:
        torch.manual_seed(12345)  # a new process knows nothing of the old one's generator
        job = toy_job(folder, **changes)
        progress = Progress()
        path, refused = checkpoint.newest(folder)
        assert not refused
        if path is not None:
            content = checkpoint.read(path)
            progress, notes = snapshot.restore(job, content)
            assert not notes
            assert job.saver is not None
            job.saver.resumed_from(path, progress.extra["best_checkpoint"])
        try:
            fit(job, progress, [killer(kill)])
        except Killed:
            assert job.saver is not None
            job.saver.finish()
            continue
        order.append(progress.step)
        return final_state(job, progress), order
    raise AssertionError("never finished")


@pytest.mark.parametrize("kills", [(1,), (3,), (8,), (9,), (16,), (23,), (3, 3), (5, 1, 2), (8, 8), (10, 4, 2)])
def test_a_killed_run_ends_like_an_uninterrupted_one(tmp_path: Path, kills: tuple[int, ...]) -> None:
    whole, _ = run_with_kills(tmp_path / "whole", [], every_windows=2)
    cut, _ = run_with_kills(tmp_path / "cut", kills, every_windows=2)
    assert_same(whole, cut)


def test_a_kill_before_the_first_checkpoint_starts_again(tmp_path: Path) -> None:
    whole, _ = run_with_kills(tmp_path / "whole", [])
    cut, _ = run_with_kills(tmp_path / "cut", [4, 7])
    assert_same(whole, cut)


def test_saving_more_or_less_often_changes_nothing(tmp_path: Path) -> None:
    often, _ = run_with_kills(tmp_path / "often", [], every_windows=1)
    seldom, _ = run_with_kills(tmp_path / "seldom", [])
    assert_same(often, seldom)


def test_a_stop_at_an_observers_wish_can_be_resumed(tmp_path: Path) -> None:
    whole, _ = run_with_kills(tmp_path / "whole", [])
    job = toy_job(tmp_path / "cut")
    progress = fit(job, Progress(), [lambda e: Stop("enough") if e.kind == "step" and e.step == 11 else None])
    assert (progress.status, progress.step) == ("stopped", 11)
    cut, _ = run_with_kills(tmp_path / "cut", [])
    assert_same(whole, cut)


def test_a_finished_run_resumed_with_more_epochs_goes_on_and_does_not_start_again(tmp_path: Path) -> None:
    """tinker-cookbook#367: the final checkpoint said "all done", and the extended run trained 0 steps."""
    run_with_kills(tmp_path, [])
    job = toy_job(tmp_path, epochs=5)
    path, _ = checkpoint.newest(tmp_path)
    assert path is not None
    progress, _ = snapshot.restore(job, checkpoint.read(path))
    rates: list[float] = []
    fit(job, progress, [lambda e: rates.append(e.values["lr"]) if e.kind == "step" else None])  # type: ignore[func-returns-value]
    assert progress.step == 40
    assert len(rates) == 16
    assert rates[0] == pytest.approx(1e-2 * (1 - 24 / 40))


def test_extending_a_run_with_nothing_to_do_trains_nothing(tmp_path: Path) -> None:
    run_with_kills(tmp_path, [])
    job = toy_job(tmp_path)
    path, _ = checkpoint.newest(tmp_path)
    assert path is not None
    progress, _ = snapshot.restore(job, checkpoint.read(path))
    assert fit(job, progress).step == NUM_WINDOWS


def test_early_stopping_survives_a_kill(tmp_path: Path) -> None:
    changes = {"patience": 1, "epochs": 60, "every_windows": 3}
    whole, steps = run_with_kills(tmp_path / "whole", [], **changes)
    cut, cut_steps = run_with_kills(tmp_path / "cut", [7, 5], **changes)
    assert steps == cut_steps
    assert steps[0] < 60 * 8
    assert_same(whole, cut)
    # killed after its last checkpoint, before it could say so: there is nothing left to do, for the same reason
    again, again_steps = run_with_kills(tmp_path / "cut", [], **changes)
    assert again_steps == steps
    assert again["progress"]["reason"] == whole["progress"]["reason"] == "no better accuracy"
