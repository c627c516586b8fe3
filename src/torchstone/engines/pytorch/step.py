"""One optimizer step: many micro-batches, one division, one look at the norm, one update or none."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from torchstone.engines.pytorch.feed import Window
from torchstone.engines.pytorch.job import Job
from torchstone.engines.pytorch.optimizers.sam import Sam
from torchstone.engines.pytorch.postmortem.generators import Generators, generators
from torchstone.engines.pytorch.progress import Progress
from torchstone.engines.pytorch.rates import set_rates
from torchstone.engines.pytorch.uphill import take_uphill_gradients

# Steps skipped in a row by the loss scaler before the run ends: from its first scale of 2^16 it is then at 2^-9,
# so that no overflow is left that a smaller scale could cure.
MAX_OVERFLOWS = 25
# Weights of a tensor that are looked at for the update-to-weight ratio.
THINNED = 65_536


@dataclass(frozen=True, slots=True)
class NonFinite:
    """A loss or gradient that is not a number; nothing was updated.

    what: `loss`, `gradient` or `overflow`. culprits: rows of the window whose own loss or inputs are not finite.
    """

    what: str
    value: float
    culprits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step did: its ledger row, what stopped it, if anything did, and the generators as it found them."""

    row: dict[str, Any]
    problem: NonFinite | None = None
    before: Generators = field(default_factory=dict)


def take_step(job: Job, window: Window, progress: Progress, wait_s: float) -> Outcome:
    """Trains on one window: forward and backward per micro-batch, then at most one update of the weights."""
    started = time.perf_counter()
    before = generators(job.strategy.device)
    rates = set_rates(job, progress)
    job.optimizer.zero_grad(set_to_none=True)
    if job.buffers:
        torch._foreach_copy_(job.kept_buffers, job.buffers)

    loss_sum, weight, num = accumulate_gradients(job, window)
    scaler = job.precision.scaler
    if scaler is not None and any(p.grad is not None for p in job.parameters):
        scaler.unscale_(job.optimizer)  # before the norm: a scaled norm would be clipped at the wrong length
    norm = gradient_norm(job)
    loss_sum, weight, norm = on_host(loss_sum, weight, norm)
    loss_sum, weight, examples = job.strategy.sums([loss_sum, weight, num])

    # Each micro-batch was divided by the number of examples, to keep its size fit for fp16; the quotient of that
    # number and the true total weight makes it the one division by the weight of the whole window over all ranks.
    factor = len(window.rows) / weight if weight else 0.0
    norm *= factor
    loss = loss_sum / weight if weight else math.nan
    row: dict[str, Any] = {
        "epoch": progress.epoch, "examples": int(examples), "weight": weight,
        "loss": loss if weight else None, "lr": rates[0], "scale": scaler.get_scale() if scaler else 1.0,
        "skipped": None, "grad_norm": norm, "clipped_norm": norm, "update_ratio": None,
        "wait_ms": wait_s * 1e3, "step_ms": 0.0,
    }  # fmt: skip
    problem = None
    if not weight:
        row["skipped"] = "no target counts"
        if scaler is not None:
            scaler.update(scaler.get_scale())  # it forgets the step that was not made
    elif not (math.isfinite(loss_sum) and math.isfinite(norm)):
        if job.buffers:  # the forward pass has put the bad numbers into BatchNorm's statistics already
            torch._foreach_copy_(job.buffers, job.kept_buffers)
        problem = judge_overflow(job, window, progress, row)
    else:
        problem = finish_step(job, window, progress, row, factor)
        progress.loss_sum += loss_sum
        progress.weight_sum += weight
    row["step_ms"] = (time.perf_counter() - started) * 1e3
    return Outcome(row, problem, before)


def finish_step(
    job: Job, window: Window, progress: Progress, row: dict[str, Any], factor: float
) -> NonFinite | None:
    """Division, clipping and the update, with finite gradients; SAM takes its second gradients here."""
    progress.overflows = 0
    row["clipped_norm"] = scale_gradients(job, factor, row["grad_norm"])
    if isinstance(job.optimizer, Sam):
        norm = take_uphill_gradients(job.optimizer, job.model, lambda: gradients_again(job, window, factor))
        if not math.isfinite(norm):
            row["skipped"] = "non-finite gradient"
            return NonFinite("gradient", norm, find_culprits(job, window))
    if job.clipping is not None:
        job.clipping(job.parameters)
        row["clipped_norm"] = float(gradient_norm(job))
    row["update_ratio"] = update(job, progress)
    return None


def gradients_again(job: Job, window: Window, factor: float) -> float:
    """The window's gradients at the weights as they are now, divided and clipped; returns their norm before that."""
    accumulate_gradients(job, window)
    (norm,) = on_host(gradient_norm(job))
    scale_gradients(job, factor, norm * factor)
    return norm * factor


def accumulate_gradients(job: Job, window: Window) -> tuple[Tensor | float, Tensor | float, int]:
    """Forward and backward of this rank's micro-batches; returns loss sum, weight and examples of this rank."""
    loss_sum: Tensor | float = 0.0
    weight: Tensor | float = 0.0
    examples = 0
    scaler, device = job.precision.scaler, job.strategy.device
    last = len(window.batches) - 1
    for index, batch in enumerate(window.batches):
        inputs, target = batch.inputs, batch.target
        if device.type != "cpu":
            inputs = tuple(value.to(device, non_blocking=True) for value in inputs)
            target = target.to(device, non_blocking=True)
        with job.precision.autocast():
            value, batch_weight = job.loss(job.model(*inputs), target)
        job.strategy.before_backward(is_last=index == last)
        scaled = value / len(window.rows)
        (scaled if scaler is None else scaler.scale(scaled)).backward()  # type: ignore[no-untyped-call]
        loss_sum = loss_sum + value.detach()
        weight = weight + batch_weight
        examples += len(batch.rows)
    job.strategy.reduce_gradients()
    return loss_sum, weight, examples


def gradient_norm(job: Job) -> Tensor | float:
    """The L2 norm over all gradients, in one pass."""
    grads = [p.grad for p in job.parameters if p.grad is not None]
    if not grads:
        return 0.0
    norm: Tensor = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads)))
    return norm


def on_host(*values: Tensor | float) -> tuple[float, ...]:
    """The values as Python numbers, with one wait for the device at most."""
    tensors = [value for value in values if isinstance(value, Tensor)]
    if tensors and tensors[0].device.type != "cpu":
        numbers = iter(torch.stack([t.double() for t in tensors]).tolist())
        return tuple(next(numbers) if isinstance(value, Tensor) else value for value in values)
    return tuple(value.item() if isinstance(value, Tensor) else value for value in values)


def scale_gradients(job: Job, factor: float, norm: float) -> float:
    """Divides by the true weight and clips to `clip_norm`, in one multiplication; returns the norm after it."""
    after = norm
    if job.clip_norm and norm > job.clip_norm:
        factor, after = factor * (job.clip_norm / norm), job.clip_norm
    if factor != 1.0:
        torch._foreach_mul_([p.grad for p in job.parameters if p.grad is not None], factor)
    return after


def update(job: Job, progress: Progress) -> float | None:
    """The optimizer's step; on sampled steps the ratio of the update's norm to the weights' norm."""
    is_sampled = progress.step % job.sample_every == 0
    parameters = [p for p in job.parameters if p.requires_grad] if is_sampled else []
    before = [thinned(p).clone() for p in parameters]
    scaler = job.precision.scaler
    if isinstance(job.optimizer, Sam):
        job.optimizer.second_step()
    elif scaler is None:
        job.optimizer.step()
    else:
        scaler.step(job.optimizer)
        scaler.update()
    if job.shrinkage is not None:
        job.shrinkage(job.optimizer)
    ratio = update_to_weight(before, parameters) if is_sampled else None
    if job.average is not None:
        job.average.update(progress.step, job.total_steps)
    progress.step += 1
    return ratio


def thinned(weights: Tensor) -> Tensor:
    """Every k-th weight of a tensor, flat, at most about `THINNED` of them: a second copy of all would cost memory."""
    flat = weights.detach().reshape(-1)
    return flat[:: -(-flat.numel() // THINNED) or 1]


@torch.no_grad()
def update_to_weight(before: Sequence[Tensor], after: Sequence[Tensor]) -> float:
    """‖new - old‖ / ‖old‖ over all weights; about 1e-3 is common (Karpathy, makemore part 3, 2022).

    before: each parameter `thinned` and copied; a tensor with more than `THINNED` weights counts by its sample.
    """
    counts = [w.numel() / max(b.numel(), 1) for w, b in zip(after, before, strict=True)]
    shares = torch.tensor(counts, dtype=torch.float64)
    change = torch._foreach_sub([thinned(w) for w in after], list(before))
    moved, size = (torch.stack(torch._foreach_norm(v)).cpu().double().square() @ shares for v in (change, list(before)))
    return math.sqrt(float(moved) / float(size)) if float(size) else 0.0


def judge_overflow(job: Job, window: Window, progress: Progress, row: dict[str, Any]) -> NonFinite | None:
    """A non-finite loss or gradient: the scaler's business with fp16, unless the data or the model is at fault."""
    scaler = job.precision.scaler
    culprits = find_culprits(job, window)
    what = "gradient" if row["loss"] is not None and math.isfinite(row["loss"]) else "loss"
    row["skipped"] = f"non-finite {what}"
    value = row["loss"] if what == "loss" else row["grad_norm"]
    if scaler is None or culprits:
        return NonFinite(what, value, culprits)
    progress.overflows += 1
    lower = {**scaler.state_dict(), "scale": scaler.get_scale() * scaler.get_backoff_factor(), "_growth_tracker": 0}
    scaler.load_state_dict(lower)
    scaler.update(lower["scale"])  # an explicit scale: it forgets the step that was not made
    if progress.overflows >= MAX_OVERFLOWS:
        return NonFinite("overflow", value, culprits)
    return None


@torch.no_grad()
def find_culprits(job: Job, window: Window) -> tuple[int, ...]:
    """The window's rows with a non-finite input or target, else those whose own output or loss is not finite.

    Looked for on every rank with the weights as they are (nothing was updated), in evaluation mode, so that one
    bad example does not spoil the others through BatchNorm.
    """
    from torchstone.engines.pytorch.scoring import in_eval_mode

    bad_data, bad_output = [], []
    with in_eval_mode(job.model):
        for batch in window.batches:
            tensors = [*(t for t in batch.inputs if t.is_floating_point()), batch.target.float()]
            logits = job.model(*(t.to(job.strategy.device) for t in batch.inputs))
            for index, row in enumerate(batch.rows.tolist()):
                if not all(bool(t[index].isfinite().all()) for t in tensors):
                    bad_data.append(row)
                one, _ = job.loss(logits[index : index + 1], batch.target[index : index + 1].to(logits.device))
                if not bool(logits[index].isfinite().all()) or not math.isfinite(float(one)):
                    bad_output.append(row)
    mine = torch.tensor(bad_data or bad_output, dtype=torch.int64)
    has_bad_data = job.strategy.sums([len(bad_data)])[0] > 0
    if has_bad_data and not bad_data:
        mine = mine[:0]
    found = torch.cat(job.strategy.gather(mine))
    return tuple(int(row) for row in found)
