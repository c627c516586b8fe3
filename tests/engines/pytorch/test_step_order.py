"""The order of one step, what a skipped one leaves untouched, and what the ledger says."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from conftest import CPU, accuracy, blobs, small_net, toy_job
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.loop import fit
from torchstone.engines.pytorch.precisions.bf16 import bf16
from torchstone.engines.pytorch.precisions.fp16 import fp16
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.sources.tensors import TensorSource
from torchstone.engines.pytorch.step import MAX_OVERFLOWS, take_step

ToyJob = Callable[..., Job]


def ledger(job: Job) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    fit(job, Progress(), [lambda e: rows.append(dict(e.values)) if e.kind == "step" else None])  # type: ignore[func-returns-value]
    return rows


class Spy(nn.Module):
    """Notes mode and gradient mode of every forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.net, self.seen = small_net(), []

    def forward(self, inputs: Tensor) -> Tensor:
        self.seen.append((self.training, torch.is_grad_enabled(), torch.is_inference_mode_enabled()))
        output: Tensor = self.net(inputs)
        return output


def test_training_is_in_train_mode_and_validation_in_eval_and_inference_mode() -> None:
    model = Spy()
    fit(toy_job(model=model, average=None, epochs=1), Progress())
    assert model.seen[:8] == [(True, True, False)] * 8
    assert model.seen[8:] == [(False, False, True)] * 4
    assert model.training


def test_a_frozen_submodule_keeps_its_mode_after_validation() -> None:
    job = toy_job(average=None, epochs=2)
    modes = []

    def freeze(event: Any) -> None:
        if event.kind == "step" and event.step == 1:
            job.model[1].eval()  # type: ignore[index]
        if event.kind == "validation":
            modes.append((job.model[1].training, job.model[3].training))  # type: ignore[index]

    fit(job, Progress(), [freeze])
    assert modes == [(False, True), (False, True)]


def test_a_plain_loop_by_hand_gives_the_same_weights() -> None:
    """Ours against what a careful person writes: fused AdamW, linear decay, clipping.

    Without BatchNorm: the bias before it has no gradient but rounding noise, which Adam blows up to full steps.
    """

    def net() -> nn.Module:
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Dropout(0.2), nn.Linear(16, 3))

    job = toy_job(average=None, validation=None, epochs=2, model=net())
    reference = net()
    optimizer = torch.optim.AdamW(reference.parameters(), lr=1e-2, fused=True)
    torch.manual_seed(11)
    for epoch in range(2):
        for index, window in enumerate(job.feed.epoch(epoch)):
            step = epoch * 8 + index
            optimizer.param_groups[0]["lr"] = 1e-2 * (1 - step / 16)
            optimizer.zero_grad()
            nn.functional.cross_entropy(reference(window.batches[0].inputs[0]), window.batches[0].target).backward()
            nn.utils.clip_grad_norm_(reference.parameters(), 1.0)
            optimizer.step()
    torch.manual_seed(11)
    fit(job, Progress())
    for ours, theirs in zip(job.model.parameters(), reference.parameters(), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)


def test_the_same_seed_gives_the_same_weights(toy: ToyJob) -> None:
    one, two = toy(), toy()
    torch.manual_seed(5)
    fit(one, Progress())
    torch.manual_seed(5)
    fit(two, Progress())
    assert all(torch.equal(a, b) for a, b in zip(one.model.parameters(), two.model.parameters(), strict=True))


def test_the_ledger_has_a_row_for_each_step(toy: ToyJob) -> None:
    rows = ledger(toy())
    assert len(rows) == 24
    assert sum(row["examples"] for row in rows) == 3 * 75
    assert [row["lr"] for row in rows[:3]] == pytest.approx([1e-2, 1e-2 * 23 / 24, 1e-2 * 22 / 24])
    assert all(row["clipped_norm"] <= 1.0 + 1e-9 and row["grad_norm"] >= row["clipped_norm"] for row in rows)
    sampled = [row["update_ratio"] for row in rows]
    assert [value is not None for value in sampled] == [step % 4 == 0 for step in range(24)]
    assert all(0 < value < 1 for value in sampled if value is not None)
    assert all(row["step_ms"] > 0 and row["wait_ms"] >= 0 and row["scale"] == 1.0 for row in rows)


def test_the_update_ratio_is_the_relative_change_of_the_weights(toy: ToyJob) -> None:
    job = toy(average=None)
    before = torch.cat([p.detach().flatten().clone() for p in job.model.parameters()])
    row = take_step(job, next(iter(job.feed.epoch(0))), Progress(), 0.0).row
    after = torch.cat([p.detach().flatten() for p in job.model.parameters()])
    assert row["update_ratio"] == pytest.approx(float((after - before).norm() / before.norm()), rel=1e-5)


def test_a_step_that_the_scaler_skips_moves_nothing_but_the_scale() -> None:
    """`scaler.step` returns None whether it skipped or not; the schedule must not advance (pytorch#44511)."""
    job = toy_job(average=None, precision=fp16(CPU), model=nn.Linear(8, 3))
    scaler = job.precision.scaler
    assert scaler is not None
    scaler.load_state_dict({**scaler.state_dict(), "scale": 2.0**40})
    progress = Progress()
    before = job.model.weight.detach().clone()  # type: ignore[operator, union-attr]
    outcome = take_step(job, next(iter(job.feed.epoch(0))), progress, 0.0)
    assert outcome.problem is None
    assert outcome.row["skipped"] == "non-finite gradient"
    assert outcome.row["scale"] == 2.0**40
    assert scaler.get_scale() == 2.0**39
    assert progress.step == 0
    assert progress.overflows == 1
    assert not job.optimizer.state
    assert torch.equal(before, job.model.weight)  # type: ignore[arg-type]


def test_the_rate_follows_the_steps_that_were_made() -> None:
    job = toy_job(average=None, precision=fp16(CPU), model=nn.Linear(8, 3), epochs=1)
    assert job.precision.scaler is not None
    job.precision.scaler.load_state_dict({**job.precision.scaler.state_dict(), "scale": 2.0**22})
    rows = ledger(job)
    made = [row["lr"] for row in rows if row["skipped"] is None]
    assert 0 < len(made) < 8
    assert made == pytest.approx([1e-2 * (1 - step / 8) for step in range(len(made))])


def test_fp16_trains_and_keeps_its_weights_in_float32() -> None:
    rows = ledger(job := toy_job(precision=fp16(CPU), average=None))
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert all(p.dtype == torch.float32 for p in job.model.parameters())
    assert all(v.dtype == torch.float32 for s in job.optimizer.state.values() for v in s.values())


def test_bf16_runs_the_forward_pass_in_bfloat16() -> None:
    seen = []
    job = toy_job(precision=bf16(CPU), average=None, epochs=1)
    job.model[0].register_forward_hook(lambda m, i, o: seen.append(o.dtype))  # type: ignore[index]
    rows = ledger(job)
    assert set(seen) == {torch.bfloat16}
    assert all(math.isfinite(row["loss"]) for row in rows)


def test_endless_overflow_ends_the_run() -> None:
    class TooLarge(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 3)

        def forward(self, inputs: Tensor) -> Tensor:
            output: Tensor = self.layer(inputs * 1e30).float() * 1e9
            return output

    source = TensorSource([torch.ones(400, 8)], torch.zeros(400, dtype=torch.int64))
    job = toy_job(precision=fp16(CPU), average=None, model=TooLarge(), source=source, epochs=3, validation=None)
    events: list[Any] = []
    progress = fit(job, Progress(), [events.append])
    assert progress.status == "failed"
    assert len([e for e in events if e.kind == "step"]) <= MAX_OVERFLOWS


def test_evaluation_does_not_depend_on_its_batch_size(toy: ToyJob) -> None:
    found = []
    for size in (1, 2, 4, 15, 100):
        job = toy()
        job = replace(job, validation=replace(job.validation, batch_size=size))
        records: list[dict[str, Any]] = []
        torch.manual_seed(1)
        fit(job, Progress(), [lambda e: records.append(dict(e.values)) if e.kind == "validation" else None])  # type: ignore[func-returns-value]  # noqa: B023
        assert all((r["n"], r["of"]) == (15, 15) for r in records)
        found.append([(r["metrics"]["accuracy"], r["metrics"]["loss"]) for r in records])
    for other in found[1:]:
        assert other == [pytest.approx(pair, abs=1e-6) for pair in found[0]]


def test_metrics_come_from_the_whole_set() -> None:
    job = toy_job(average=None)
    last: dict[str, Any] = {}
    fit(job, Progress(), [lambda e: last.update(e.values) if e.kind == "validation" else None])  # type: ignore[func-returns-value]
    assert job.validation is not None
    job.model.eval()
    batch = blobs().batch(job.validation.rows, None)
    scores = torch.softmax(job.model(*batch.inputs), 1).detach().numpy()
    assert last["metrics"]["accuracy"] == accuracy(scores, batch.target.numpy())
    loss = nn.functional.cross_entropy(job.model(*batch.inputs), batch.target).item()
    assert last["metrics"]["loss"] == pytest.approx(loss, rel=1e-5)
