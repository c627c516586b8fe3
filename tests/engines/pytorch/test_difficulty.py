"""Runs whose samplers go by what the model finds hard: measured rightly, counted beforehand, resumed exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_resume_exact import Killed, assert_same, final_state, killer
from torch.nn import functional

from conftest import small_net, toy_job
from torchstone.core.errors import StoneError
from torchstone.core.task import Task
from torchstone.engines.pytorch import checkpoint, snapshot
from torchstone.engines.pytorch.difficulty import Difficulty
from torchstone.engines.pytorch.finders.pace import find_pace
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.losses.triplet import triplet
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.ruler import Ruler, example_losses, measure_if_due, order_remark, ruler_for
from torchstone.parts.samplers import ByDifficulty
from torchstone.parts.samplers.curriculum import curriculum
from torchstone.parts.samplers.hard_examples import hard_examples
from torchstone.parts.samplers.self_paced import self_paced
from torchstone.parts.samplers.small_loss import small_loss

SAMPLERS = {
    "curriculum": curriculum(start=0.3, full_at=1.0), "self_paced": self_paced(start=0.3, end=0.9),
    "small_loss": small_loss(forget=0.5, ramp=2), "hard_examples": hard_examples(warm_up=0),
    "every second epoch": self_paced(start=0.5, every=2),
}  # fmt: skip


def ordered(sampler: ByDifficulty, folder: Path | None = None, **changes: Any) -> Job:
    """The toy job with a sampler by its own losses: 75 rows, 4 epochs."""
    job = toy_job(folder, **{"epochs": 4, **changes})
    assert job.validation is not None
    rows = job.feed.rows
    target = job.feed.source.batch(rows, None).target.numpy()
    examples = replace(job.validation, rows=rows, target=target)
    feed = replace(job.feed, sampler=sampler, difficulty=Difficulty(np.zeros(len(rows)), job.epochs))
    ruler = Ruler(examples, lambda scores, target: example_losses(scores, target, "single"))
    return replace(job, feed=feed, ruler=ruler)


def run_with_kills(sampler: ByDifficulty, folder: Path, kills: Sequence[int]) -> tuple[dict[str, Any], Job]:
    """Dies after each number of steps in `kills`, each time to be resumed with all objects new."""
    for kill in [*kills, 10**9]:
        torch.manual_seed(12345)
        job, progress = ordered(sampler, folder, every_windows=2), Progress()
        path, _ = checkpoint.newest(folder)
        if path is not None:
            progress, notes = snapshot.restore(job, checkpoint.read(path))
            assert not notes
            assert job.saver is not None
            job.saver.resumed_from(path, progress.extra["best_checkpoint"])
        try:
            fit(job, progress, [killer(kill)])
        except Killed:
            assert job.saver is not None
            job.saver.finish()
            continue
        return final_state(job, progress), job
    raise AssertionError("never finished")


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_killed_run_deals_the_same_examples_and_ends_the_same(tmp_path: Path, name: str) -> None:
    whole, _ = run_with_kills(SAMPLERS[name], tmp_path / "whole", [])
    cut, _ = run_with_kills(SAMPLERS[name], tmp_path / "cut", [3, 8, 5, 2, 4])
    assert_same(whole, cut)


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("batch_size", [10, 7, 2])
def test_all_steps_are_known_beforehand(name: str, batch_size: int) -> None:
    job = ordered(SAMPLERS[name], batch_size=batch_size)
    expected, sizes = job.total_steps, [job.feed.num_in(epoch) for epoch in range(4)]
    rates: list[float] = []
    progress = fit(job, Progress(), [lambda e: rates.append(e.values["lr"]) if e.kind == "step" else None])
    assert (progress.step, progress.examples_seen) == (expected, sum(sizes))
    assert rates[-1] == pytest.approx(1e-2 / expected)  # the toy's rate falls along a line to 0 at the last step


def test_what_is_measured_is_cross_entropy_in_eval_mode_and_nothing_else_changes() -> None:
    job = ordered(self_paced(warm_up=0))
    fit(replace(job, epochs=1), Progress())
    batch = job.feed.source.batch(job.feed.rows, None)
    reference = small_net()
    reference.load_state_dict(job.model.state_dict())
    with torch.no_grad():
        expected = functional.cross_entropy(reference.eval()(batch.inputs[0]), batch.target, reduction="none")
    before = {name: value.clone() for name, value in job.model.state_dict().items()}
    random_state, modes = torch.get_rng_state(), [module.training for module in job.model.modules()]
    measure_if_due(job, Progress(epoch=1))
    assert job.feed.difficulty is not None
    assert job.feed.difficulty.values == pytest.approx(expected.double().numpy(), rel=1e-5, abs=1e-6)
    assert torch.equal(random_state, torch.get_rng_state())
    assert modes == [module.training for module in job.model.modules()]
    assert all(torch.equal(value, before[name]) for name, value in job.model.state_dict().items())


def test_losses_are_measured_when_due_and_only_at_an_epochs_start() -> None:
    job = ordered(self_paced(warm_up=1, every=2))
    assert job.feed.difficulty is not None
    for epoch, window, is_measured in ((0, 0, False), (1, 4, False), (2, 0, False), (1, 0, True), (3, 0, True)):
        job.feed.difficulty.values[:] = 0
        measure_if_due(job, Progress(epoch=epoch, window=window))
        assert bool(job.feed.difficulty.values.any()) is is_measured


def test_self_paced_deals_the_smallest_losses() -> None:
    job = ordered(self_paced(start=0.4, warm_up=0))
    measure_if_due(job, Progress())
    assert job.feed.difficulty is not None
    dealt = job.feed.order(0)
    is_dealt = np.isin(job.feed.rows, dealt)
    assert len(dealt) == is_dealt.sum() == 30
    assert job.feed.difficulty.values[is_dealt].max() <= job.feed.difficulty.values[~is_dealt].min()


def test_a_finished_run_goes_on_with_more_epochs_as_long_as_its_last(tmp_path: Path) -> None:
    sampler = SAMPLERS["self_paced"]
    _, first = run_with_kills(sampler, tmp_path, [])
    path, _ = checkpoint.newest(tmp_path)
    assert path is not None
    job = ordered(sampler, epochs=6)
    progress, _ = snapshot.restore(job, checkpoint.read(path))
    assert job.total_steps == first.total_steps + 2 * first.feed.windows_per_epoch
    assert fit(job, progress).step == job.total_steps


def test_a_checkpoint_without_losses_is_refused(tmp_path: Path) -> None:
    plain = toy_job()
    content = snapshot.take(plain, Progress())
    with pytest.raises(StoneError, match="nothing about the difficulty of 75"):
        snapshot.restore(ordered(SAMPLERS["self_paced"]), content)


def test_a_person_is_told_how_many_examples_take_part() -> None:
    job = ordered(small_loss(forget=0.4, ramp=2, every=2))
    told = "75 of 75 examples in the first epoch, 45 in the last; the loss of each is measured 2 times"
    assert order_remark(job) == told
    assert order_remark(toy_job()) is None


def test_the_pace_can_be_found_and_leaves_nothing_behind() -> None:
    job = ordered(hard_examples())
    pace = find_pace(job)
    assert pace.measuring_s > 0
    assert pace.epoch_s(job) == pytest.approx(pace.step_s * 8 + pace.validation_s + pace.measuring_s * 3 / 4)
    assert job.feed.difficulty is not None
    assert not job.feed.difficulty.values.any()


def test_a_task_without_a_loss_for_one_example_is_refused_with_a_way_out() -> None:
    job = ordered(SAMPLERS["self_paced"])
    assert job.ruler is not None
    odd = Task("boxes", "image", "boxes", "map", "max", "x", "", "")  # type: ignore[arg-type]
    classes = replace(odd, target="single")
    assert ruler_for(job.ruler.examples, classes, job.loss).examples is job.ruler.examples
    for task, loss, why in ((odd, job.loss, "the task is boxes"), (classes, triplet(), "compares the examples")):
        with pytest.raises(StoneError, match=why) as caught:
            ruler_for(job.ruler.examples, task, loss)
        assert "shuffled" in str(caught.value.fix)
